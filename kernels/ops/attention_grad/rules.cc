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

// Keys and values go around once more; what a rank adds to the gradients of a block follows the
// block and comes home with the last hop. The own block's part stays.
std::vector<int> Expand(ExpandContext& context, const Graph& graph, const Node& node) {
  const AttentionInputs& at = kAttentionGrad;
  const std::vector<int> in = node.inputs;
  const Attrs attrs = RingStepAttrs(graph, node, at);
  const std::string dim = In(graph, node, at.k).dims[1].name;
  const int64_t n = context.RingSize(dim);
  if (n == 1) return context.Add("attention_grad", node.attrs, in);
  std::vector<int> inputs = in;
  std::vector<int> own;
  std::vector<int> arrived(3, -1);  // dk and dv on their way
  int dq = -1;
  for (int64_t step = 0; step < n; ++step) {
    const bool last = step + 1 == n;
    const int next_k = last ? -1 : context.Pass(inputs[at.k], dim);
    const int next_v = last ? -1 : context.Pass(inputs[at.v], dim);
    inputs[at.k_positions] = context.RingBlock(in[at.k_positions], dim, -step);
    inputs[at.k_segments] = context.RingBlock(in[at.k_segments], dim, -step);
    std::vector<int> part = context.Add("attention_grad", attrs, inputs);
    dq = step == 0 ? part[0] : context.Add("add", {}, {dq, part[0]})[0];
    if (step == 0) own = part;
    for (int i = 1; i < 3 && step > 0; ++i) {
      if (step > 1) part[i] = context.Add("add", {}, {arrived[i], part[i]})[0];
      arrived[i] = context.Pass(part[i], dim);
    }
    inputs[at.k] = next_k;
    inputs[at.v] = next_v;
  }
  return {dq, context.Add("add", {}, {own[1], arrived[1]})[0],
          context.Add("add", {}, {own[2], arrived[2]})[0]};
}

}  // namespace

OpRule Rule_attention_grad() {
  return {.name = "attention_grad",
          .infer = Infer,
          .whole = Whole,
          .cost = Cost,
          .index_attrs = Index,
          .expand = Expand};
}

}  // namespace trireme
