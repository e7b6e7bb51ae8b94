// dlogit[t,v] = dloss * weight_t * (exp(logit[t,v] - lse_t) - [v is the target]), 0 on padded rows;
// dx[t] = sum_v dlogit[t,v] w[v], dw[v] = sum_t dlogit[t,v] x[t].
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/linear_cross_entropy/logits.h"

namespace trireme {

void Reference_linear_cross_entropy_grad(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& w = args.in[1];
  const Tensor& targets = args.in[2];
  const int64_t embed = w.size(1);
  const VocabShard shard = {args.attrs.GetInt("vocab_start", 0), args.attrs.GetInt("vocab_size")};
  std::vector<double> dx(x.count());
  std::vector<double> dw(w.count());
  for (int64_t token = 0; token < targets.count(); ++token) {
    const double scale = Load(args.in[5], 0) * Load(args.in[3], token);
    if (scale == 0) continue;
    const std::vector<double> logits = TokenLogits(x, w, token, shard);
    const int64_t target = static_cast<int64_t>(Load(targets, token)) - shard.vocab_start;
    for (int64_t row = 0; row < w.size(0) && shard.IsValid(row); ++row) {
      const double probability = std::exp(logits[row] - Load(args.in[4], token));
      const double dlogit = scale * (probability - (row == target ? 1.0 : 0.0));
      for (int64_t e = 0; e < embed; ++e) {
        dx[token * embed + e] += dlogit * Load(w, row * embed + e);
        dw[row * embed + e] += dlogit * Load(x, token * embed + e);
      }
    }
  }
  StoreAll(args.out[0], dx);
  StoreAll(args.out[1], dw, args.accumulate);
}

}  // namespace trireme
