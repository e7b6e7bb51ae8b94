// Gradient of combine for rows: each row gets its token's gradient times its weight. Attribute:
// wave.
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "dy:float[batch,position,embed] source:int32[wave,shard,slot] "
                                "weights:float[batch,position,choice]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  return std::vector<ValueType>{{dims.Dims("shard,slot,embed"), In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 1).dims[0].name, In(graph, node, 2).dims[2].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = Elements(graph.value(node.outputs[0])), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_combine_grad() {
  return {.name = "combine_grad",
          .infer = Infer,
          .whole = Whole,
          .linearity = Linearity::kEach,
          .cost = Cost};
}

}  // namespace trireme
