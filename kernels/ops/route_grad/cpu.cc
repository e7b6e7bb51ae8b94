// Threads over tokens. Only a softmax that is not renormalised exactly reaches experts that were
// not chosen; the other forms touch k numbers of a token.
#include <algorithm>
#include <cmath>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/route/cpu_select.h"
#include "kernels/ops/route/routing.h"

namespace trireme {

void Reference_route_grad(const KernelArgs& args);

namespace {

// Operands of one token.
struct TokenGrad {
  const float* dw;
  const float* z;
  const int32_t* ids;
  float* dz;
  int64_t k;
  int64_t experts;
};

// dz of the chosen; the softmax over them.
void GradOfSoftmaxOfChosen(const TokenGrad& t, double total, double* q) {
  float max = t.z[t.ids[0]];
  for (int64_t c = 1; c < t.k; ++c) max = std::max(max, t.z[t.ids[c]]);
  double sum = 0, mean = 0;
  for (int64_t c = 0; c < t.k; ++c) {
    q[c] = std::exp(double{t.z[t.ids[c]]} - max);
    sum += q[c];
    mean += q[c] * t.dw[c];
  }
  mean /= sum;
  for (int64_t c = 0; c < t.k; ++c) {
    t.dz[t.ids[c]] = static_cast<float>(total * q[c] / sum * (t.dw[c] - mean));
  }
}

// dp[c]: gradients of the scores p[c] of the chosen. Returns sum_c dp_c p_c.
double GradOfScores(const TokenGrad& t, const Weighing& weighing, const double* p, double* dp) {
  double sum = weighing.eps, weighted = 0, mean = 0;
  for (int64_t c = 0; c < t.k; ++c) {
    sum += p[c];
    weighted += t.dw[c] * p[c];
  }
  for (int64_t c = 0; c < t.k; ++c) {
    dp[c] = weighing.total *
            (weighing.renormalise ? (t.dw[c] - weighted / sum) / sum : double{t.dw[c]});
    mean += dp[c] * p[c];
  }
  return mean;
}

void GradOfSigmoid(const TokenGrad& t, const Weighing& weighing, double* p, double* dp) {
  for (int64_t c = 0; c < t.k; ++c) p[c] = 1 / (1 + std::exp(-double{t.z[t.ids[c]]}));
  GradOfScores(t, weighing, p, dp);
  for (int64_t c = 0; c < t.k; ++c) {
    t.dz[t.ids[c]] = static_cast<float>(dp[c] * p[c] * (1 - p[c]));
  }
}

// x *= factor.
TRIREME_SIMD void ScaleRow(float* x, float factor, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

void GradOfSoftmax(const TokenGrad& t, const Weighing& weighing, double* p, double* dp) {
  RunSimd<SoftmaxRow>(t.z, t.dz, t.experts);
  for (int64_t c = 0; c < t.k; ++c) p[c] = t.dz[t.ids[c]];
  const double mean = GradOfScores(t, weighing, p, dp);
  RunSimd<ScaleRow>(t.dz, static_cast<float>(-mean), t.experts);
  for (int64_t c = 0; c < t.k; ++c) {
    t.dz[t.ids[c]] = static_cast<float>(p[c] * (dp[c] - mean));
  }
}

}  // namespace

void Cpu_route_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_route_grad(args);
  const Weighing weighing = ReadWeighing(args.attrs);
  const RowShape shape = RowsOf(args.in[1]);
  const int64_t experts = shape.columns;
  const int64_t k = args.in[0].sizes.back();
  const float* dweights = args.in[0].f32();
  const float* logits = args.in[1].f32();
  const int32_t* ids = args.in[2].i32();
  float* dlogits = args.out[0].f32();
  ParallelRows(args.stream, shape.rows, 2 * experts, [&](int64_t token) {
    const TokenGrad t = {dweights + token * k,
                         logits + token * experts,
                         ids + token * k,
                         dlogits + token * experts,
                         k,
                         experts};
    std::fill_n(t.dz, experts, 0.0f);
    if (t.ids[0] < 0) return;
    double* p = ThreadScratchOf<double>(ScratchSlot::kTile, 2 * k);
    if (weighing.IsSoftmaxOfChosen()) {
      GradOfSoftmaxOfChosen(t, weighing.total, p);
    } else if (weighing.sigmoid) {
      GradOfSigmoid(t, weighing, p, p + k);
    } else {
      GradOfSoftmax(t, weighing, p, p + k);
    }
  });
}

}  // namespace trireme
