// The unsplit form of the linear head's cross-entropy: what its expansion must equal.
#include "kernels/ops/kernel.h"
#include "kernels/ops/linear_cross_entropy/logits.h"

namespace trireme {

void Reference_linear_cross_entropy(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& w = args.in[1];
  const Tensor& targets = args.in[2];
  const Tensor& weights = args.in[3];
  const VocabShard shard = {0, args.attrs.GetInt("vocab_size")};
  double loss = 0;
  for (int64_t token = 0; token < targets.count(); ++token) {
    const std::vector<double> logits = TokenLogits(x, w, token, shard);
    const double lse = LogSumExp(logits);
    Store(args.out[1], token, lse);
    // Tokens without weight do not count, whatever they hold.
    const double weight = Load(weights, token);
    if (weight != 0) loss += weight * (lse - logits[static_cast<int64_t>(Load(targets, token))]);
  }
  Store(args.out[0], 0, loss);
}

}  // namespace trireme
