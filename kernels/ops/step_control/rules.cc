// Turns a step's sums into what the optimizer needs: learning rate, gradient scale (token
// correction and clip), bias corrections, and whether to update at all. Works in place on the
// control block (layout.h).
#include "kernels/ops/signature.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node,
                   "control:float64[control] reduce:float64[reduce] lr_table:float32[steps]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"max_grad_norm", "beta1", "beta2", "expected_weight"}));
  if (dims.dim("control").size != kControlSize) {
    return OperandError(graph, node, 0, "must have " + std::to_string(kControlSize) + " elements");
  }
  if (dims.dim("reduce").size != kReduceSize) {
    return OperandError(graph, node, 1, "must have " + std::to_string(kReduceSize) + " elements");
  }
  if (dims.dim("steps").size < 1) {
    return OperandError(graph, node, 2, "must have at least one learning rate");
  }
  return std::vector<ValueType>{{dims.Dims("control"), DType::kFloat64}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) names.push_back(In(graph, node, i).dims[0].name);
  return names;
}

}  // namespace

OpRule Rule_step_control() { return {.name = "step_control", .infer = Infer, .whole = Whole}; }

}  // namespace trireme
