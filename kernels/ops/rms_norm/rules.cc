// Rule of rms_norm: x / sqrt(mean(x^2) + eps) * w over the last dim (Zhang & Sennrich 2019,
// arXiv:1910.07467); without w when there is one operand. Keeps the inverse root for the backward.
#include "common/base/check.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  const bool weighted = node.inputs.size() != 1;
  if (weighted) RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckAttrs(node, {"eps"}));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& x = In(graph, node, 0);
  if (x.dims.empty()) return OperandError(graph, node, 0, "must have a dim to normalise");
  if (weighted) RETURN_IF_ERROR(CheckLike(graph, node, 1, {x.dims.back()}, x.dtype));
  const std::vector<Dim> rows = DimRange(x.dims, 0, static_cast<int>(x.dims.size()) - 1);
  return std::vector<ValueType>{{x.dims, x.dtype}, {rows, StatisticDType(x.dtype)}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims.back().name};
}

void Grad(GradArgs& args) {
  CHECK_EQ(args.output_grads[1], -1) << "rms_norm's inv_rms has no gradient";
  if (args.output_grads[0] < 0) return;
  const Node& node = args.node;
  std::vector<int> inputs{args.output_grads[0]};
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  inputs.push_back(node.outputs[1]);
  args.input_grads = args.builder.Add("rms_norm_grad", {}, inputs, GradName(args, 0));
}

}  // namespace

OpRule Rule_rms_norm() {
  return {.name = "rms_norm", .infer = Infer, .whole = Whole, .grad = Grad};
}

}  // namespace trireme
