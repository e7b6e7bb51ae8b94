// Loads of each group first, then threads over tokens.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/router_loss/cpu_groups.h"

namespace trireme {

void Reference_router_loss_grad(const KernelArgs& args);

namespace {

// What a group's gradient is made of: factors of the balance and of the z term.
struct GroupFactors {
  float balance = 0;
  float z = 0;
};

TRIREME_SIMD float DotRow(const float* a, const float* b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// load: E times the shares of assignments.
TRIREME_SIMD void SoftmaxGrad(const float* z, const float* load, float* dz, int64_t n,
                              GroupFactors factors) {
  TokenSums token;
  SoftmaxToken(z, dz, n, &token);
  const float mean = DotRow(load, dz, n);
  const float constant = factors.z * token.lse - factors.balance * mean;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dz[i] *= factors.balance * load[i] + constant;
}

TRIREME_SIMD void SigmoidGrad(const float* z, const float* load, float* dz, float* p, int64_t n,
                              GroupFactors factors) {
  TokenSums token;
  SigmoidToken(z, p, n, false, &token);
  const float mean = DotRow(load, p, n);
  const float lse = token.lse;
  const float z_factor = factors.z * lse;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float balance = factors.balance * p[i] * (load[i] - mean) * FastSigmoid(-z[i]);
    dz[i] = balance + z_factor * FastExp(z[i] - lse);
  }
}

}  // namespace

void Cpu_router_loss_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {1, 3})) return Reference_router_loss_grad(args);
  const CpuRouter router = MakeCpuRouter(args, 1, 3);
  const RouterGroups groups = SumRouterGroups(args.stream, router, GroupDetail::kCounts);
  const int64_t n = router.experts;
  float* loads =
      ThreadScratchOf<float>(ScratchSlot::kSecondTile, std::max<int64_t>(1, router.groups * n));
  for (int64_t g = 0; g < router.groups; ++g) {
    const double factor = groups.sums(g).tokens == 0 ? 0.0 : groups.LoadFactor(g);
    for (int64_t e = 0; e < n; ++e) {
      loads[g * n + e] = static_cast<float>(factor * groups.counts(g)[e]);
    }
  }
  const double dloss = *args.in[0].f64();
  const double balance = args.attrs.GetDouble("balance");
  const double z_weight = args.attrs.GetDouble("z");
  float* dlogits = args.out[0].f32();
  ParallelRows(args.stream, router.groups * router.group_tokens, 4 * n, [&](int64_t token) {
    const int64_t g = token / router.group_tokens;
    const GroupSums& sums = groups.sums(g);
    float* dz = dlogits + token * n;
    if (!router.IsValid(token) || sums.weight == 0) {
      std::fill_n(dz, n, 0.0f);
      return;
    }
    const double factor = dloss * sums.weight / sums.tokens;
    const GroupFactors factors = {static_cast<float>(factor * balance),
                                  static_cast<float>(factor * z_weight * 2)};
    const float* load = loads + g * n;
    if (router.sigmoid) {
      float* p = ThreadScratchOf<float>(ScratchSlot::kTile, n);
      RunSimd<SigmoidGrad>(router.Logits(token), load, dz, p, n, factors);
    } else {
      RunSimd<SoftmaxGrad>(router.Logits(token), load, dz, n, factors);
    }
  });
}

}  // namespace trireme
