// Rule of attention_grad: gradients of attention for q, k and v, with the weights computed again
// from lse.
#include "kernels/ops/attention/operands.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 10));
  RETURN_IF_ERROR(CheckAttention(graph, node, kAttentionGrad));
  const Value& q = In(graph, node, 1);
  const Value& k = In(graph, node, 2);
  RETURN_IF_ERROR(CheckLike(graph, node, 0, q.dims, q.dtype));
  RETURN_IF_ERROR(CheckLike(graph, node, 4, q.dims, q.dtype));
  RETURN_IF_ERROR(CheckLike(graph, node, 5, DimRange(q.dims, 0, 3), StatisticDType(q.dtype)));
  return std::vector<ValueType>{{q.dims, q.dtype}, {k.dims, k.dtype}, {k.dims, k.dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return AttentionWhole(graph, node, kAttentionGrad);
}

std::vector<IndexAttr> Index(const Graph& graph, const Node& node) {
  return AttentionIndex(graph, node, kAttentionGrad);
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 5 * AttentionFlops(graph, node, kAttentionGrad),
          .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_attention_grad() {
  return {
      .name = "attention_grad", .infer = Infer, .whole = Whole, .cost = Cost, .index_attrs = Index};
}

}  // namespace trireme
