// Rule of softmax_merge: two attentions of the same queries over disjoint keys become the attention
// over all of them. Ring attention's expansion writes it; the backward takes the merged lse, so it
// has no gradient of its own.
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 4));
  RETURN_IF_ERROR(CheckRank(graph, node, 0, 4));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& o = In(graph, node, 0);
  const std::vector<Dim> rows = DimRange(o.dims, 0, 3);
  const DType statistic = StatisticDType(o.dtype);
  RETURN_IF_ERROR(CheckLike(graph, node, 1, rows, statistic));
  RETURN_IF_ERROR(CheckLike(graph, node, 2, o.dims, o.dtype));
  RETURN_IF_ERROR(CheckLike(graph, node, 3, rows, statistic));
  return std::vector<ValueType>{{o.dims, o.dtype}, {rows, statistic}};
}

// A row of lse has no head_dim: its parts would be partial sums, which a logarithm is not.
std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims[3].name};
}

}  // namespace

OpRule Rule_softmax_merge() { return {.name = "softmax_merge", .infer = Infer, .whole = Whole}; }

}  // namespace trireme
