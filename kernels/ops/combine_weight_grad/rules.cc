// Gradient of combine for the weights: each assignment's is the inner product of its row and its
// token's gradient. It is linear in the rows, so that rows which are partial sums (experts split
// inside) need not be added up for it. `weights` only tells the shape. Attribute: wave.
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node,
                   "dy:float[batch,position,embed] rows:float[shard,slot,embed] "
                   "source:int32[wave,shard,slot] weights:float[batch,position,choice]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  return std::vector<ValueType>{{dims.Dims("batch,position,choice"), In(graph, node, 3).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 2).dims[0].name, In(graph, node, 3).dims[2].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 2 * Elements(In(graph, node, 1)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_combine_weight_grad() {
  return {.name = "combine_weight_grad",
          .infer = Infer,
          .whole = Whole,
          .linearity = Linearity::kEach,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
