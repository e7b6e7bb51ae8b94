// lse[t] = logsumexp over valid local rows of x[t] . w[row], target_logit[t] = x[t] . w[target], 0
// when it is elsewhere.
#include "kernels/ops/kernel.h"
#include "kernels/ops/linear_cross_entropy/logits.h"

namespace trireme {

void Reference_linear_logsumexp(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& w = args.in[1];
  const Tensor& targets = args.in[2];
  const VocabShard shard = {args.attrs.GetInt("vocab_start", 0), args.attrs.GetInt("vocab_size")};
  for (int64_t token = 0; token < targets.count(); ++token) {
    const std::vector<double> logits = TokenLogits(x, w, token, shard);
    const int64_t row = static_cast<int64_t>(Load(targets, token)) - shard.vocab_start;
    const bool is_here = row >= 0 && row < w.size(0) && shard.IsValid(row);
    Store(args.out[0], token, LogSumExp(logits));
    Store(args.out[1], token, is_here ? logits[row] : 0.0);
  }
}

}  // namespace trireme
