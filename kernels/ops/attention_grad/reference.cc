// Reference of attention_grad: with p = exp(s - lse) and delta = sum(do * o): ds = p * (do.v -
// delta) * scale, dq = ds k, dk = ds q, dv = p do (Dao et al. 2022, arXiv:2205.14135). Shapes: B
// batch, P query positions, K key positions, H heads, G kv heads, D head size.

#include <cmath>

#include "kernels/ops/attention/operands.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// All operands as doubles, and the sums.
struct Work {
  std::vector<double> do_BPHD, q_BPHD, k_BKGD, v_BKGD, o_BPHD, lse_BPH;
  std::vector<double> dq_BPHD, dk_BKGD, dv_BKGD;
};

double DotRows(const std::vector<double>& a, int64_t a_row, const std::vector<double>& b,
               int64_t b_row, int64_t size) {
  double sum = 0;
  for (int64_t d = 0; d < size; ++d) sum += a[a_row + d] * b[b_row + d];
  return sum;
}

// Adds what the query at `query` (over B*P) and `head` contributes.
void AddOne(const AttentionView& view, int64_t query, int64_t head, Work& work) {
  const Tensor& q = view.args.in[1];
  const Tensor& k = view.args.in[2];
  const int64_t heads = q.size(2), size = q.size(3), keys = k.size(1), kv_heads = k.size(2);
  const double scale = view.args.attrs.GetDouble("scale");
  const int64_t row = (query * heads + head) * size;
  const double lse = work.lse_BPH[query * heads + head];
  const double delta = DotRows(work.do_BPHD, row, work.o_BPHD, row, size);
  const int64_t first_key = query / q.size(1) * keys;
  for (int64_t key = first_key; key < first_key + keys; ++key) {
    if (!view.Sees(query, key)) continue;
    const int64_t kv_row = (key * kv_heads + view.KvHead(head)) * size;
    const double score = scale * DotRows(work.q_BPHD, row, work.k_BKGD, kv_row, size);
    const double p = std::exp(score - lse);
    const double dp = DotRows(work.do_BPHD, row, work.v_BKGD, kv_row, size);
    const double ds = p * (dp - delta) * scale;
    for (int64_t d = 0; d < size; ++d) {
      work.dq_BPHD[row + d] += ds * work.k_BKGD[kv_row + d];
      work.dk_BKGD[kv_row + d] += ds * work.q_BPHD[row + d];
      work.dv_BKGD[kv_row + d] += p * work.do_BPHD[row + d];
    }
  }
}

}  // namespace

void Reference_attention_grad(const KernelArgs& args) {
  Work work{.do_BPHD = LoadAll(args.in[0]),
            .q_BPHD = LoadAll(args.in[1]),
            .k_BKGD = LoadAll(args.in[2]),
            .v_BKGD = LoadAll(args.in[3]),
            .o_BPHD = LoadAll(args.in[4]),
            .lse_BPH = LoadAll(args.in[5])};
  work.dq_BPHD.assign(work.q_BPHD.size(), 0.0);
  work.dk_BKGD.assign(work.k_BKGD.size(), 0.0);
  work.dv_BKGD.assign(work.v_BKGD.size(), 0.0);
  const Tensor& q = args.in[1];
  const AttentionView view{args, kAttentionGrad};
  for (int64_t query = 0; query < q.size(0) * q.size(1); ++query) {
    for (int64_t head = 0; head < q.size(2); ++head) AddOne(view, query, head, work);
  }
  StoreAll(args.out[0], work.dq_BPHD);
  StoreAll(args.out[1], work.dk_BKGD);
  StoreAll(args.out[2], work.dv_BKGD);
}

}  // namespace trireme
