// Reference of attention: one query of one head at a time.
// Shapes: B batch, P query positions, K key positions, H heads, G kv heads, D head size.

#include <cmath>
#include <limits>

#include "kernels/ops/attention/operands.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// Output row and lse of the query at `query` (over B*P) and `head`.
void AttendOne(const AttentionView& view, int64_t query, int64_t head) {
  const Tensor& q_BPHD = view.args.in[0];
  const Tensor& k_BKGD = view.args.in[1];
  const Tensor& v_BKGD = view.args.in[2];
  const int64_t heads = q_BPHD.size(2), size = q_BPHD.size(3);
  const int64_t keys = k_BKGD.size(1), kv_heads = k_BKGD.size(2);
  const int64_t first_key = query / q_BPHD.size(1) * keys;
  const int64_t q_row = (query * heads + head) * size;
  const auto kv_row = [&](int64_t key) { return (key * kv_heads + view.KvHead(head)) * size; };
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  std::vector<double> score_K(keys, kNever);
  double max = kNever;
  for (int64_t key = 0; key < keys; ++key) {
    if (!view.Sees(query, first_key + key)) continue;
    double sum = 0;
    for (int64_t d = 0; d < size; ++d) {
      sum += Load(q_BPHD, q_row + d) * Load(k_BKGD, kv_row(first_key + key) + d);
    }
    score_K[key] = sum * view.args.attrs.GetDouble("scale");
    max = std::max(max, score_K[key]);
  }
  double total = 0;
  std::vector<double> o_D(size, 0.0);
  for (int64_t key = 0; key < keys; ++key) {
    if (score_K[key] == kNever) continue;
    const double weight = std::exp(score_K[key] - max);
    total += weight;
    for (int64_t d = 0; d < size; ++d) {
      o_D[d] += weight * Load(v_BKGD, kv_row(first_key + key) + d);
    }
  }
  for (int64_t d = 0; d < size; ++d) {
    Store(view.args.out[0], q_row + d, total > 0 ? o_D[d] / total : 0.0);
  }
  Store(view.args.out[1], query * heads + head, total > 0 ? max + std::log(total) : kNever);
}

}  // namespace

void Reference_attention(const KernelArgs& args) {
  const Tensor& q_BPHD = args.in[0];
  const AttentionView view{args, kAttention};
  for (int64_t query = 0; query < q_BPHD.size(0) * q_BPHD.size(1); ++query) {
    for (int64_t head = 0; head < q_BPHD.size(2); ++head) AttendOne(view, query, head);
  }
}

}  // namespace trireme
