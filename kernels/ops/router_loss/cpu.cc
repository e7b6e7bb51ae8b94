// The group sums of cpu_groups.h, and the loss from them.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/route/routing.h"
#include "kernels/ops/router_loss/cpu_groups.h"

namespace trireme {

void Reference_router_loss(const KernelArgs& args);

namespace {

constexpr int64_t kChunkTokens = 128;

// sums += p in double.
TRIREME_SIMD void AddWidened(const float* p, double* sums, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sums[i] += double{p[i]};
}

// Adds the tokens [begin, end) to record 0 of `groups`.
void SumChunk(const CpuRouter& router, GroupDetail detail, int64_t begin, int64_t end,
              const RouterGroups& groups) {
  GroupSums& sums = groups.sums(0);
  double* counts = groups.counts(0);
  const int64_t n = router.experts;
  float* p = ThreadScratchOf<float>(ScratchSlot::kTile, n);
  for (int64_t token = begin; token < end; ++token) {
    if (!router.IsValid(token)) continue;
    sums.tokens += 1;
    sums.weight += router.weights[token];
    const int32_t* ids = router.ids + token * router.choices;
    for (int64_t c = 0; c < router.choices; ++c) counts[ids[c]] += 1;
    if (detail == GroupDetail::kCounts) continue;
    TokenSums numbers;
    if (router.sigmoid) {
      RunSimd<SigmoidToken>(router.Logits(token), p, n, detail == GroupDetail::kEntropy, &numbers);
    } else {
      RunSimd<SoftmaxToken>(router.Logits(token), p, n, &numbers);
    }
    RunSimd<AddWidened>(static_cast<const float*>(p), groups.sum_p(0), n);
    sums.squared_lse += double{numbers.lse} * numbers.lse;
    sums.entropy += numbers.entropy;
  }
}

}  // namespace

CpuRouter MakeCpuRouter(const KernelArgs& args, int logits, int weights) {
  const Tensor& z = args.in[logits];
  const int64_t group = args.attrs.GetInt("group");
  CHECK_EQ(z.size(0) % group, 0) << "a shard of the batch must hold whole groups";
  return {.logits = z.f32(),
          .ids = args.in[logits + 1].i32(),
          .weights = args.in[weights].f32(),
          .segments = args.in[weights + 1].i32(),
          .groups = z.size(0) / group,
          .group_tokens = group * z.size(1),
          .experts = z.size(2),
          .choices = args.in[logits + 1].size(2),
          .sigmoid = ReadSigmoid(args.attrs)};
}

RouterGroups SumRouterGroups(const Stream& stream, const CpuRouter& router, GroupDetail detail) {
  const int64_t width = RouterGroups::Width(router.experts);
  const int64_t chunks = CeilDiv(router.group_tokens, kChunkTokens);  // of a group
  double* partials = ThreadScratchOf<double>(
      ScratchSlot::kRows, std::max<int64_t>(1, router.groups * (chunks + 1) * width));
  double* totals = partials + router.groups * chunks * width;
  ParallelFor(stream, router.groups * chunks, 1, [&](int64_t i, int64_t) {
    const int64_t first = i / chunks * router.group_tokens;
    const int64_t begin = i % chunks * kChunkTokens;
    const int64_t end = std::min(begin + kChunkTokens, router.group_tokens);
    std::fill_n(partials + i * width, width, 0.0);
    SumChunk(router, detail, first + begin, first + end,
             RouterGroups(partials + i * width, router.experts, router.choices));
  });
  std::fill_n(totals, router.groups * width, 0.0);
  for (int64_t i = 0; i < router.groups * chunks; ++i) {
    double* total = totals + i / chunks * width;
    for (int64_t j = 0; j < width; ++j) total[j] += partials[i * width + j];
  }
  return RouterGroups(totals, router.experts, router.choices);
}

void Cpu_router_loss(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 2})) return Reference_router_loss(args);
  const CpuRouter router = MakeCpuRouter(args, 0, 2);
  const RouterGroups groups = SumRouterGroups(args.stream, router, GroupDetail::kLosses);
  double loss = 0;
  for (int64_t g = 0; g < router.groups; ++g) {
    const double weight = groups.sums(g).weight;
    if (weight == 0) continue;
    loss += weight * (args.attrs.GetDouble("balance") * groups.BalanceLoss(g) +
                      args.attrs.GetDouble("z") * groups.ZLoss(g));
  }
  *args.out[0].f64() = loss;
}

}  // namespace trireme
