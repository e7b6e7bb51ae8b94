// Rule of scale: x times the constant attribute factor.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 1));
  RETURN_IF_ERROR(CheckAttrs(node, {"factor"}));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  return std::vector<ValueType>{{In(graph, node, 0).dims, In(graph, node, 0).dtype}};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  args.input_grads[0] =
      args.builder.Add1("scale", {{"factor", args.node.attrs.GetDouble("factor")}},
                        {args.output_grads[0]}, GradName(args, 0));
}

}  // namespace

OpRule Rule_scale() {
  return {.name = "scale", .infer = Infer, .linearity = Linearity::kJoint, .grad = Grad};
}

}  // namespace trireme
