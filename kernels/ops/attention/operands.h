// What attention and attention_grad share: the kinds of their operands, checked, and who may look
// at whom. Shapes: B batch, P query positions, K key positions, H heads, G kv heads, D head size.
#ifndef TRIREME_KERNELS_OPS_ATTENTION_OPERANDS_H_
#define TRIREME_KERNELS_OPS_ATTENTION_OPERANDS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/base/status.h"
#include "kernels/ops/infer_util.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/rule.h"

namespace trireme {

// Input numbers. o, lse are the forward's results, used by the gradient.
struct AttentionInputs {
  int q, k, v, q_positions, k_positions, q_segments, k_segments;
};
inline constexpr AttentionInputs kAttention{0, 1, 2, 3, 4, 5, 6};
inline constexpr AttentionInputs kAttentionGrad{1, 2, 3, 6, 7, 8, 9};

// First key position that a query at `q_position` may see when it sees `window` positions, its own
// included; every one when window is 0.
inline int32_t LowestKey(int32_t q_position, int64_t window) {
  constexpr int64_t kFirst = std::numeric_limits<int32_t>::min();
  if (window <= 0) return kFirst;
  return static_cast<int32_t>(std::max(kFirst, q_position - (window - 1)));
}

// Checks q, k, v, positions and segments, and the attributes scale, query_group and window.
inline Status CheckAttention(const Graph& graph, const Node& node, const AttentionInputs& at) {
  RETURN_IF_ERROR(CheckAttrs(node, {"scale", "query_group"}));
  for (const int i : {at.q, at.k}) RETURN_IF_ERROR(CheckRank(graph, node, i, 4));
  RETURN_IF_ERROR(CheckFloat(graph, node, at.q));
  const Value& q = In(graph, node, at.q);
  const Value& k = In(graph, node, at.k);
  RETURN_IF_ERROR(
      CheckLike(graph, node, at.k, {q.dims[0], k.dims[1], k.dims[2], q.dims[3]}, q.dtype));
  RETURN_IF_ERROR(CheckLike(graph, node, at.v, k.dims, q.dtype));
  for (const int i : {at.q_positions, at.q_segments}) {
    RETURN_IF_ERROR(CheckLike(graph, node, i, DimRange(q.dims, 0, 2), DType::kInt32));
  }
  for (const int i : {at.k_positions, at.k_segments}) {
    RETURN_IF_ERROR(CheckLike(graph, node, i, DimRange(k.dims, 0, 2), DType::kInt32));
  }
  if (const int64_t window = node.attrs.GetInt("window", 0); window < 0) {
    return OpError(node, "window " + std::to_string(window) +
                             " must be the positions a query sees, or 0 for all");
  }
  const int64_t group = node.attrs.GetInt("query_group");
  if (group >= 1 && k.dims[2].size * group == q.dims[2].size) return absl::OkStatus();
  return OpError(node, "query_group " + std::to_string(group) + " times " +
                           std::to_string(k.dims[2].size) + " " + k.dims[2].name + " is not " +
                           std::to_string(q.dims[2].size) + " " + q.dims[2].name);
}

// head_dim. A query needs all of its keys too, but not at once: where key_position is split, the
// rules send blocks of keys around a ring.
inline std::vector<std::string> AttentionWhole(const Graph& graph, const Node& node,
                                               const AttentionInputs& at) {
  return {In(graph, node, at.q).dims[3].name};
}

inline std::vector<IndexAttr> AttentionIndex(const Graph& graph, const Node& node,
                                             const AttentionInputs& at) {
  return {{"head_start", at.q, In(graph, node, at.q).dims[2].name},
          {"kv_head_start", at.k, In(graph, node, at.k).dims[2].name}};
}

// Multiplications of one product of queries with keys, halved because of the causal mask, as FLOPs.
// Of K keys a window of W leaves K W - W^2 / 2 of K^2 / 2 pairs. A step of a ring holds some of the
// keys only: its attribute num_keys is the number of all.
inline double AttentionFlops(const Graph& graph, const Node& node, const AttentionInputs& at) {
  const auto keys = static_cast<double>(In(graph, node, at.k).dims[1].physical());
  const double all = Elements(In(graph, node, at.q)) * keys;
  const int64_t window = node.attrs.GetInt("window", 0);
  if (window == 0) return all;
  const auto total = static_cast<double>(node.attrs.GetInt("num_keys", static_cast<int64_t>(keys)));
  const double share = std::min(1.0, static_cast<double>(window) / std::max(1.0, total));
  return all * (2 * share - share * share);
}

// The attributes of an attention that its gradient has too.
inline Attrs AttentionAttrs(const Node& node) {
  Attrs attrs{{"scale", node.attrs.GetDouble("scale")},
              {"query_group", node.attrs.GetInt("query_group")}};
  if (node.attrs.Has("window")) attrs.Set("window", node.attrs.GetInt("window"));
  return attrs;
}

// Attributes of one step of a ring over the keys.
inline Attrs RingStepAttrs(const Graph& graph, const Node& node, const AttentionInputs& at) {
  Attrs attrs = node.attrs;
  if (attrs.GetInt("window", 0) > 0) attrs.Set("num_keys", In(graph, node, at.k).dims[1].size);
  return attrs;
}

// Whether queries see keys, and which kv head serves a head.
struct AttentionView {
  const KernelArgs& args;
  const AttentionInputs& at;
  int64_t window = args.attrs.GetInt("window", 0);

  // `query` and `key` count over B*P and B*K of the same sequence.
  bool Sees(int64_t query, int64_t key) const {
    const int32_t q_position = args.in[at.q_positions].i32()[query];
    const int32_t k_position = args.in[at.k_positions].i32()[key];
    return k_position <= q_position && k_position >= LowestKey(q_position, window) &&
           args.in[at.k_segments].i32()[key] == args.in[at.q_segments].i32()[query];
  }
  // Local kv head of local head `head`.
  int64_t KvHead(int64_t head) const {
    const int64_t global =
        (head + args.attrs.GetInt("head_start", 0)) / args.attrs.GetInt("query_group");
    const int64_t local = global - args.attrs.GetInt("kv_head_start", 0);
    CHECK(local >= 0 && local < args.in[at.k].size(2))
        << "head " << head << " needs kv head " << global << ", which is not here";
    return local;
  }
};

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ATTENTION_OPERANDS_H_
