// Sums over balance groups for the fast kernels. Groups are cut into chunks of tokens, a chunk is
// summed by one thread, and chunks are added in order: the result does not depend on threads.
#ifndef TRIREME_KERNELS_OPS_ROUTER_LOSS_CPU_GROUPS_H_
#define TRIREME_KERNELS_OPS_ROUTER_LOSS_CPU_GROUPS_H_

#include <cmath>
#include <cstdint>

#include "kernels/ops/kernel.h"
#include "kernels/ops/route/cpu_select.h"

namespace trireme {

// float32 operands of a router, tokens row-major: B sequences of P positions, E experts, k choices.
struct CpuRouter {
  const float* logits = nullptr;      // [B P, E]
  const int32_t* ids = nullptr;       // [B P, k]
  const float* weights = nullptr;     // [B P]
  const int32_t* segments = nullptr;  // [B P]
  int64_t groups = 0;
  int64_t group_tokens = 0;
  int64_t experts = 0;
  int64_t choices = 0;
  bool sigmoid = false;

  const float* Logits(int64_t token) const { return logits + token * experts; }
  bool IsValid(int64_t token) const { return segments[token] >= 0; }
};

// From inputs `logits`, `logits + 1` (ids), `weights`, `weights + 1` (segments).
CpuRouter MakeCpuRouter(const KernelArgs& args, int logits, int weights);

// How much of a group is summed; each includes those before it.
enum class GroupDetail : uint8_t { kCounts, kLosses, kEntropy };

// A group's sums in memory that SumRouterGroups returns; also `experts` counts and sums of p.
struct GroupSums {
  double tokens = 0;  // valid ones; padding is in none of these
  double weight = 0;
  double squared_lse = 0;
  double entropy = 0;
};

// The sums of all groups, in scratch memory of this thread (ScratchSlot::kRows).
class RouterGroups {
 public:
  RouterGroups(double* memory, int64_t experts, int64_t choices)
      : memory_(memory), experts_(experts), choices_(choices) {}
  static int64_t Width(int64_t experts) { return kHead + 2 * experts; }

  GroupSums& sums(int64_t g) const { return *reinterpret_cast<GroupSums*>(Record(g)); }
  double* counts(int64_t g) const { return Record(g) + kHead; }
  double* sum_p(int64_t g) const { return Record(g) + kHead + experts_; }
  double* Record(int64_t g) const { return memory_ + g * Width(experts_); }

  // E sum_e load_e P_e, and the mean of lse^2; 0 without tokens.
  double BalanceLoss(int64_t g) const {
    if (sums(g).tokens == 0) return 0;
    double sum = 0;
    for (int64_t e = 0; e < experts_; ++e) sum += counts(g)[e] * sum_p(g)[e];
    return LoadFactor(g) * sum / sums(g).tokens;
  }
  double ZLoss(int64_t g) const {
    return sums(g).tokens == 0 ? 0 : sums(g).squared_lse / sums(g).tokens;
  }
  // E / assignments: what makes E * load of a count.
  double LoadFactor(int64_t g) const {
    return static_cast<double>(experts_) / (sums(g).tokens * static_cast<double>(choices_));
  }

 private:
  static constexpr int64_t kHead = sizeof(GroupSums) / sizeof(double);
  double* memory_;
  int64_t experts_;
  int64_t choices_;
};

RouterGroups SumRouterGroups(const Stream& stream, const CpuRouter& router, GroupDetail detail);

// ln x of a positive normal number; relative error below 2e-7 away from 1. Source: Cephes logf.
TRIREME_SIMD float FastLog(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  const float mantissa = std::bit_cast<float>((bits & 0x007fffff) | 0x3f000000);  // in [1/2, 1)
  const bool is_low = mantissa < 0.70710678f;
  const float e = static_cast<float>((bits >> 23) - 126) - (is_low ? 1.0f : 0.0f);
  const float m = is_low ? mantissa + mantissa - 1.0f : mantissa - 1.0f;
  const float square = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * square + e * -2.12194440e-4f - 0.5f * square;
  return m + p + e * 0.693359375f;
}

// One token's numbers.
struct TokenSums {
  float lse = 0;
  float entropy = 0;
};

// p = softmax of z; lse and the entropy of p.
TRIREME_SIMD void SoftmaxToken(const float* z, float* p, int64_t n, TokenSums* out) {
  const float max = LargestOf(z, n);
  float sum = 0, moment = 0;
#pragma omp simd reduction(+ : sum, moment)
  for (int64_t i = 0; i < n; ++i) {
    const float d = z[i] - max;
    const float e = FastExp(d);
    p[i] = e;
    sum += e;
    moment += e == 0 ? 0.0f : e * d;
  }
  const float scale = 1 / sum;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) p[i] *= scale;
  const float log_sum = std::log(sum);
  out->lse = max + log_sum;
  out->entropy = log_sum - moment * scale;
}

// p = sigmoids of z over their sum; lse of z; the entropy of p if asked for.
TRIREME_SIMD void SigmoidToken(const float* z, float* p, int64_t n, bool needs_entropy,
                               TokenSums* out) {
  const float max = LargestOf(z, n);
  float sum = 0, scores = 0, moment = 0;
#pragma omp simd reduction(+ : sum, scores)
  for (int64_t i = 0; i < n; ++i) {
    sum += FastExp(z[i] - max);
    scores += p[i] = FastSigmoid(z[i]);
  }
  if (needs_entropy) {
#pragma omp simd reduction(+ : moment)
    for (int64_t i = 0; i < n; ++i) moment += p[i] * FastLog(p[i]);
  }
  const float scale = 1 / scores;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) p[i] *= scale;
  out->lse = max + std::log(sum);
  out->entropy = std::log(scores) - moment * scale;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTER_LOSS_CPU_GROUPS_H_
