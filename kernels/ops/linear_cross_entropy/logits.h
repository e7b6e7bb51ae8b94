// One token's logits in double, as the references of the linear head's ops see them.
#ifndef TRIREME_KERNELS_OPS_LINEAR_CROSS_ENTROPY_LOGITS_H_
#define TRIREME_KERNELS_OPS_LINEAR_CROSS_ENTROPY_LOGITS_H_

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/ops/reference_util.h"

namespace trireme {

// Row r of w[rows, embed] has the global id vocab_start + r; ids >= vocab_size are padding.
struct VocabShard {
  int64_t vocab_start = 0;
  int64_t vocab_size = 0;
  bool IsValid(int64_t row) const { return vocab_start + row < vocab_size; }
};

// logits[r] = x[token] . w[r], -inf where r is padding.
inline std::vector<double> TokenLogits(const Tensor& x, const Tensor& w, int64_t token,
                                       const VocabShard& shard) {
  const int64_t embed = w.size(1);
  std::vector<double> logits(w.size(0), -std::numeric_limits<double>::infinity());
  for (int64_t row = 0; row < w.size(0) && shard.IsValid(row); ++row) {
    double sum = 0;
    for (int64_t e = 0; e < embed; ++e)
      sum += Load(x, token * embed + e) * Load(w, row * embed + e);
    logits[row] = sum;
  }
  return logits;
}

// log(sum exp(logits)), -inf when every logit is.
inline double LogSumExp(const std::vector<double>& logits) {
  double max = -std::numeric_limits<double>::infinity();
  for (const double logit : logits) max = std::fmax(max, logit);
  if (max == -std::numeric_limits<double>::infinity()) return max;
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - max);
  return max + std::log(sum);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_LINEAR_CROSS_ENTROPY_LOGITS_H_
