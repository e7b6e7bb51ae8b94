// What xsa and xsa_grad share: their operands, checked, and which kv head serves a head. Shapes: R
// rows (batch, position), H heads, G kv heads, D head size.
#ifndef TRIREME_KERNELS_OPS_XSA_OPERANDS_H_
#define TRIREME_KERNELS_OPS_XSA_OPERANDS_H_

#include <cstdint>

#include "common/base/check.h"
#include "kernels/ops/infer_util.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/rule.h"
#include "kernels/ops/xsa/eps.h"

namespace trireme {

// Checks y (input `y`), v (the next one) and the attribute query_group.
inline Status CheckXsa(const Graph& graph, const Node& node, int y) {
  RETURN_IF_ERROR(CheckAttrs(node, {"query_group"}));
  for (const int i : {y, y + 1}) RETURN_IF_ERROR(CheckRank(graph, node, i, 4));
  RETURN_IF_ERROR(CheckFloat(graph, node, y));
  const std::vector<Dim>& heads = In(graph, node, y).dims;
  const Dim kv_heads = In(graph, node, y + 1).dims[2];
  RETURN_IF_ERROR(CheckLike(graph, node, y + 1, {heads[0], heads[1], kv_heads, heads[3]},
                            In(graph, node, y).dtype));
  const int64_t group = node.attrs.GetInt("query_group");
  if (group >= 1 && kv_heads.size * group == heads[2].size) return absl::OkStatus();
  return OpError(node, "query_group " + std::to_string(group) + " times " +
                           std::to_string(kv_heads.size) + " " + kv_heads.name + " is not " +
                           std::to_string(heads[2].size) + " " + heads[2].name);
}

// First local heads, so that heads may be split where kv_heads are whole.
inline std::vector<IndexAttr> XsaIndex(const Graph& graph, const Node& node, int y) {
  return {{"head_start", y, In(graph, node, y).dims[2].name},
          {"kv_head_start", y + 1, In(graph, node, y + 1).dims[2].name}};
}

struct XsaSizes {
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t query_group = 1, head_start = 0, kv_head_start = 0;

  // Local kv head of local head `head`.
  int64_t KvHead(int64_t head) const {
    const int64_t local = (head + head_start) / query_group - kv_head_start;
    CHECK(local >= 0 && local < kv_heads)
        << "head " << head + head_start << " needs a kv head that is not here";
    return local;
  }
  int64_t YOffset(int64_t row, int64_t head) const { return (row * heads + head) * head_dim; }
  int64_t VOffset(int64_t row, int64_t head) const {
    return (row * kv_heads + KvHead(head)) * head_dim;
  }
};

inline XsaSizes MakeXsaSizes(const KernelArgs& args, int y) {
  const Tensor& heads = args.in[y];
  return {.rows = heads.size(0) * heads.size(1),
          .heads = heads.size(2),
          .kv_heads = args.in[y + 1].size(2),
          .head_dim = heads.size(3),
          .query_group = args.attrs.GetInt("query_group"),
          .head_start = args.attrs.GetInt("head_start", 0),
          .kv_head_start = args.attrs.GetInt("kv_head_start", 0)};
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_XSA_OPERANDS_H_
