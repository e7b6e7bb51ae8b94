// Gradient of dispatch for x: sums the rows that hold copies of a token. With split experts it is a
// partial sum. Attribute: wave.
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "drows:float[shard,slot,embed] source:int32[wave,shard,slot] "
                                "ids:int32[batch,position,choice]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  return std::vector<ValueType>{{dims.Dims("batch,position,embed"), In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 1).dims[0].name, In(graph, node, 2).dims[2].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = Elements(In(graph, node, 0)),
          .bytes = OperandBytes(graph, node),
          .workspace = 4 * static_cast<int64_t>(Elements(In(graph, node, 2)))};
}

}  // namespace

OpRule Rule_dispatch_grad() {
  return {.name = "dispatch_grad",
          .infer = Infer,
          .whole = Whole,
          .linearity = Linearity::kEach,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
