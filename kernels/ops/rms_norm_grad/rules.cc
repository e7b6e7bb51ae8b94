// Rule of rms_norm_grad: gradients of rms_norm for x and w; for x alone where there was no w.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  const bool weighted = node.inputs.size() != 3;
  if (weighted) RETURN_IF_ERROR(CheckCount(graph, node, 4));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& dy = In(graph, node, 0);
  if (dy.dims.empty()) return OperandError(graph, node, 0, "must have a normalised dim");
  const std::vector<Dim> rows = DimRange(dy.dims, 0, static_cast<int>(dy.dims.size()) - 1);
  RETURN_IF_ERROR(CheckLike(graph, node, 1, dy.dims, dy.dtype));
  if (weighted) RETURN_IF_ERROR(CheckLike(graph, node, 2, {dy.dims.back()}, dy.dtype));
  RETURN_IF_ERROR(CheckLike(graph, node, weighted ? 3 : 2, rows, StatisticDType(dy.dtype)));
  std::vector<ValueType> types{{dy.dims, dy.dtype}};
  if (weighted) types.push_back({{dy.dims.back()}, dy.dtype});
  return types;
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims.back().name};
}

}  // namespace

OpRule Rule_rms_norm_grad() {
  return {.name = "rms_norm_grad", .infer = Infer, .whole = Whole, .accumulating_outputs = {1}};
}

}  // namespace trireme
