// Rule of attention: softmax(q k^T * scale) v with a causal mask by positions inside segments, a
// window of the last `window` positions where asked for, and grouped kv heads. Keeps the logarithm
// of the softmax's denominator for the backward.
#include "kernels/ops/attention/operands.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 7));
  RETURN_IF_ERROR(CheckAttention(graph, node, kAttention));
  const Value& q = In(graph, node, 0);
  return std::vector<ValueType>{{q.dims, q.dtype},
                                {DimRange(q.dims, 0, 3), StatisticDType(q.dtype)}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return AttentionWhole(graph, node, kAttention);
}

std::vector<IndexAttr> Index(const Graph& graph, const Node& node) {
  return AttentionIndex(graph, node, kAttention);
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 2 * AttentionFlops(graph, node, kAttention), .bytes = OperandBytes(graph, node)};
}

void Grad(GradArgs& args) {
  CHECK_EQ(args.output_grads[1], -1) << "attention's lse has no gradient";
  if (args.output_grads[0] < 0) return;
  const Node& node = args.node;
  const std::vector<int> grads = args.builder.Add(
      "attention_grad", AttentionAttrs(node),
      {args.output_grads[0], node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[0],
       node.outputs[1], node.inputs[3], node.inputs[4], node.inputs[5], node.inputs[6]},
      GradName(args, 0));
  for (int i = 0; i < 3; ++i) args.input_grads[i] = grads[i];
}

// Ring attention (Liu et al. 2023, arXiv:2310.01889): keys and values go around, each rank merges
// what its queries see of every block.
std::vector<int> Expand(ExpandContext& context, const Graph& graph, const Node& node) {
  const std::vector<int> in = node.inputs;
  const Attrs attrs = RingStepAttrs(graph, node, kAttention);
  const std::string dim = In(graph, node, kAttention.k).dims[1].name;
  const int64_t n = context.RingSize(dim);
  if (n == 1) return context.Add("attention", node.attrs, in);
  int k = in[kAttention.k];
  int v = in[kAttention.v];
  std::vector<int> merged;
  for (int64_t step = 0; step < n; ++step) {
    const bool last = step + 1 == n;
    const int next_k = last ? k : context.Pass(k, dim);
    const int next_v = last ? v : context.Pass(v, dim);
    const std::vector<int> part = context.Add(
        "attention", attrs,
        {in[kAttention.q], k, v, in[kAttention.q_positions],
         context.RingBlock(in[kAttention.k_positions], dim, -step), in[kAttention.q_segments],
         context.RingBlock(in[kAttention.k_segments], dim, -step)});
    merged = step == 0 ? part
                       : context.Add("softmax_merge", {}, {merged[0], merged[1], part[0], part[1]});
    k = next_k;
    v = next_v;
  }
  return merged;
}

}  // namespace

OpRule Rule_attention() {
  return {.name = "attention",
          .infer = Infer,
          .whole = Whole,
          .grad = Grad,
          .cost = Cost,
          .index_attrs = Index,
          .expand = Expand};
}

}  // namespace trireme
