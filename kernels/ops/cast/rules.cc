// Rule of cast: the same numbers in the element type named by the attribute dtype.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 1));
  RETURN_IF_ERROR(CheckAttrs(node, {"dtype"}));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  ASSIGN_OR_RETURN(const DType dtype, ParseDType(node.attrs.GetString("dtype")));
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) {
    return OpError(node,
                   "dtype is " + node.attrs.GetString("dtype") + ", can be float32 or float64");
  }
  return std::vector<ValueType>{{In(graph, node, 0).dims, dtype}};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  const std::string dtype(Name(In(args.builder.graph(), args.node, 0).dtype));
  args.input_grads[0] =
      args.builder.Add1("cast", {{"dtype", dtype}}, {args.output_grads[0]}, GradName(args, 0));
}

}  // namespace

OpRule Rule_cast() {
  return {.name = "cast", .infer = Infer, .linearity = Linearity::kJoint, .grad = Grad};
}

}  // namespace trireme
