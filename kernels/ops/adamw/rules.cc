// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101) on one tensor, in place on p, m and v.
// Step-wide numbers come from the control block (step_control/layout.h).
#include "kernels/ops/signature.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

constexpr int kControl = 4;

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node,
                   "p:float[...] g:float[...] m:float[...] v:float[...] control:float64[control]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"beta1", "beta2", "epsilon", "weight_decay"}));
  if (dims.dim("control").size != kControlSize) {
    return OperandError(graph, node, kControl,
                        "must have " + std::to_string(kControlSize) + " elements");
  }
  return std::vector<ValueType>{{dims.leading(), In(graph, node, 0).dtype},
                                {dims.leading(), In(graph, node, 2).dtype},
                                {dims.leading(), In(graph, node, 3).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, kControl).dims[0].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 15 * Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_adamw() { return {.name = "adamw", .infer = Infer, .whole = Whole, .cost = Cost}; }

}  // namespace trireme
