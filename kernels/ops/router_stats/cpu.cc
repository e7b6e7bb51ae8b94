// The group sums of cpu_groups.h. Quantiles: threads over tokens for alpha, then over blocks of
// experts, whose columns of margins are gathered a cache line at a time and partly sorted.
#include <algorithm>
#include <functional>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/route/routing.h"
#include "kernels/ops/router_loss/cpu_groups.h"
#include "kernels/ops/router_stats/layout.h"

namespace trireme {

void Reference_router_stats(const KernelArgs& args);

namespace {

constexpr int64_t kBlockExperts = 16;  // floats in a cache line

// alpha[t] = the `rank`-th largest of z_t + bias, for valid tokens.
void ComputeAlphas(const Stream& stream, const CpuRouter& router, const float* bias, int64_t rank,
                   float* alpha) {
  const int64_t n = router.experts;
  ParallelRows(stream, router.groups * router.group_tokens, 4 * n, [&](int64_t token) {
    if (!router.IsValid(token)) return;
    float* s = ThreadScratchOf<float>(ScratchSlot::kTile, n + 2 * rank);
    int32_t* ids = reinterpret_cast<int32_t*>(s + n);
    const float* z = router.Logits(token);
    for (int64_t e = 0; e < n; ++e) s[e] = z[e] + bias[e];
    SelectLargest(s, n, rank, ids, ids + rank);
    alpha[token] = s[ids[rank - 1]];
  });
}

// betas[0, count) of the experts [first, first + count) in group g, which has `tokens` > 0 valid
// tokens: the nth largest margins.
void ComputeBetas(const CpuRouter& router, const float* alpha, int64_t g, int64_t tokens,
                  int64_t nth, int64_t first, int64_t count, float* betas) {
  int32_t* margins = ThreadScratchOf<int32_t>(ScratchSlot::kTile, count * tokens);
  int64_t row = 0;
  const int64_t begin = g * router.group_tokens;
  for (int64_t token = begin; token < begin + router.group_tokens; ++token) {
    if (!router.IsValid(token)) continue;
    const float* z = router.Logits(token) + first;
    for (int64_t e = 0; e < count; ++e) {
      margins[e * tokens + row] = OrderKey(z[e] - alpha[token]);
    }
    ++row;
  }
  for (int64_t e = 0; e < count; ++e) {
    int32_t* column = margins + e * tokens;
    std::nth_element(column, column + nth - 1, column + tokens, std::greater<int32_t>());
    betas[e] = FromOrderKey(column[nth - 1]);
  }
}

// stats += sum_g T_g beta_ge.
void AddBetas(const KernelArgs& args, const CpuRouter& router, const RouterGroups& groups,
              double* stats) {
  const int64_t n = router.experts;
  const int64_t k = args.attrs.GetInt("k");
  const int64_t tokens = router.groups * router.group_tokens;
  float* alpha = ThreadScratchOf<float>(ScratchSlot::kSecondTile, tokens + router.groups * n);
  float* betas = alpha + tokens;
  ComputeAlphas(args.stream, router, args.in[2].f32(), std::min(k + 1, n), alpha);
  const int64_t blocks = CeilDiv(n, kBlockExperts);
  ParallelTasks(args.stream, router.groups * blocks, [&](int64_t task) {
    const int64_t g = task / blocks;
    const int64_t first = task % blocks * kBlockExperts;
    const int64_t valid = static_cast<int64_t>(groups.sums(g).tokens);
    if (valid == 0) return;
    ComputeBetas(router, alpha, g, valid, std::max<int64_t>(1, valid * k / n), first,
                 std::min(kBlockExperts, n - first), betas + g * n + first);
  });
  for (int64_t g = 0; g < router.groups; ++g) {
    if (groups.sums(g).tokens == 0) continue;
    for (int64_t e = 0; e < n; ++e) stats[e] += groups.sums(g).tokens * betas[g * n + e];
  }
}

}  // namespace

void Cpu_router_stats(const KernelArgs& args) {
  const bool has_bias = ReadBiasTo(args.attrs) == BiasTo::kLogits;
  const int weights = has_bias ? 3 : 2;
  if (!AreFloat32(args.in, {0, 2, weights})) return Reference_router_stats(args);
  const CpuRouter router = MakeCpuRouter(args, 0, weights);
  const RouterGroups groups = SumRouterGroups(args.stream, router, GroupDetail::kEntropy);
  const int64_t n = router.experts;
  double* stats = args.out[0].f64();
  std::fill_n(stats, RouterStatSize(n), 0.0);
  for (int64_t g = 0; g < router.groups; ++g) {
    const GroupSums& sums = groups.sums(g);
    stats[kRouterTokens] += sums.tokens;
    stats[kRouterPadding] += static_cast<double>(router.group_tokens) - sums.tokens;
    stats[kRouterEntropy] += sums.entropy;
    if (sums.weight != 0) {
      stats[kRouterBalanceLoss] += sums.weight * groups.BalanceLoss(g);
      stats[kRouterZLoss] += sums.weight * groups.ZLoss(g);
    }
    for (int64_t e = 0; e < n; ++e) stats[kRouterLoads + e] += groups.counts(g)[e];
  }
  if (has_bias) AddBetas(args, router, groups, stats + RouterBetas(n));
}

}  // namespace trireme
