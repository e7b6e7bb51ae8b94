// Gradient of grouped_dot for the experts' matrices: each expert's rows, transposed, times what
// arrives at them. Experts without rows get 0. Attributes: wave, fill (as grouped_dot).
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckAttrs(node, {"fill"}));
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "rows:float[shard,slot,in] dout:float[shard,slot,out] "
                                "counts:int32[wave,token_shard,expert]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  return std::vector<ValueType>{{dims.Dims("expert,in,out"), In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 2).dims[0].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  const double out_size = static_cast<double>(In(graph, node, 1).dims[2].physical());
  return {.flops = 2 * Elements(In(graph, node, 0)) * out_size * node.attrs.GetDouble("fill"),
          .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_grouped_dot_grad() {
  return {.name = "grouped_dot_grad",
          .infer = Infer,
          .whole = Whole,
          .linearity = Linearity::kEach,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
