// Rule of layer_norm: (x - mean) / sqrt(variance + eps) * w + b over the last dim (Ba et al. 2016,
// arXiv:1607.06450). Keeps mean and inverse standard deviation for the backward.
#include "common/base/check.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 3));
  RETURN_IF_ERROR(CheckAttrs(node, {"eps"}));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& x = In(graph, node, 0);
  if (x.dims.empty()) return OperandError(graph, node, 0, "must have a dim to normalise");
  RETURN_IF_ERROR(CheckLike(graph, node, 1, {x.dims.back()}, x.dtype));
  RETURN_IF_ERROR(CheckLike(graph, node, 2, {x.dims.back()}, x.dtype));
  const ValueType row{DimRange(x.dims, 0, static_cast<int>(x.dims.size()) - 1),
                      StatisticDType(x.dtype)};
  return std::vector<ValueType>{{x.dims, x.dtype}, row, row};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims.back().name};
}

void Grad(GradArgs& args) {
  CHECK(args.output_grads[1] < 0 && args.output_grads[2] < 0)
      << "layer_norm's mean and inv_std have no gradient";
  if (args.output_grads[0] < 0) return;
  const Node& node = args.node;
  args.input_grads = args.builder.Add(
      "layer_norm_grad", {},
      {args.output_grads[0], node.inputs[0], node.inputs[1], node.outputs[1], node.outputs[2]},
      GradName(args, 0));
}

}  // namespace

OpRule Rule_layer_norm() {
  return {.name = "layer_norm", .infer = Infer, .whole = Whole, .grad = Grad};
}

}  // namespace trireme
