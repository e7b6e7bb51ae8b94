// Threads over tokens; only the k best are kept in order. Scores of all experts are computed where
// the choice or the weights need them.
#include <algorithm>
#include <cmath>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/route/cpu_select.h"
#include "kernels/ops/route/routing.h"

namespace trireme {

void Reference_route(const KernelArgs& args);

namespace {

struct RouteSetup {
  Weighing weighing;
  BiasTo bias_to = BiasTo::kNone;
  const float* bias = nullptr;  // null when bias_to is none
  int64_t experts = 0;
  int64_t k = 0;

  // Weights are made of a softmax over all experts.
  bool WeighsBySoftmax() const { return !weighing.sigmoid && !weighing.IsSoftmaxOfChosen(); }
};

TRIREME_SIMD void AddRow(const float* a, const float* b, float* sum, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
}

// weights of the experts `ids`; `p`: scores of all experts where WeighsBySoftmax.
void WeighChosen(const RouteSetup& setup, const float* z, const float* p, const int32_t* ids,
                 float* weights) {
  const Weighing& weighing = setup.weighing;
  float max = z[ids[0]];
  for (int64_t c = 1; c < setup.k; ++c) max = std::max(max, z[ids[c]]);
  const auto score = [&](int64_t c) {
    const double logit = z[ids[c]];
    if (setup.WeighsBySoftmax()) return double{p[ids[c]]};
    return weighing.sigmoid ? 1 / (1 + std::exp(-logit)) : std::exp(logit - max);
  };
  double sum = 0;
  for (int64_t c = 0; c < setup.k; ++c) {
    const double value = score(c);
    sum += value;
    weights[c] = static_cast<float>(value);
  }
  const double scale =
      weighing.renormalise ? weighing.total / (sum + weighing.eps) : weighing.total;
  for (int64_t c = 0; c < setup.k; ++c) {
    weights[c] = static_cast<float>(weights[c] * scale);
  }
}

void RouteToken(const RouteSetup& setup, const float* z, int32_t* ids, float* weights) {
  const int64_t n = setup.experts;
  float* p = ThreadScratchOf<float>(ScratchSlot::kTile, 2 * n + setup.k);
  float* biased = p + n;
  int32_t* keys = reinterpret_cast<int32_t*>(biased + n);
  if (setup.weighing.sigmoid) {
    if (setup.bias_to == BiasTo::kScores) RunSimd<SigmoidRow>(z, p, n);
  } else if (setup.WeighsBySoftmax() || setup.bias_to == BiasTo::kScores) {
    RunSimd<SoftmaxRow>(z, p, n);
  }
  const float* s = z;
  if (setup.bias != nullptr) {
    const float* unbiased = setup.bias_to == BiasTo::kScores ? p : z;
    RunSimd<AddRow>(unbiased, setup.bias, biased, n);
    s = biased;
  }
  SelectLargest(s, n, setup.k, ids, keys);
  WeighChosen(setup, z, p, ids, weights);
}

}  // namespace

void Cpu_route(const KernelArgs& args) {
  RouteSetup setup = {.weighing = ReadWeighing(args.attrs), .bias_to = ReadBiasTo(args.attrs)};
  const bool has_bias = setup.bias_to != BiasTo::kNone;
  if (!AreFloat32(args.in, {0}) || (has_bias && !AreFloat32(args.in, {1}))) {
    return Reference_route(args);
  }
  const RowShape shape = RowsOf(args.in[0]);
  setup.experts = shape.columns;
  setup.k = args.attrs.GetInt("k");
  if (has_bias) setup.bias = args.in[1].f32();
  const float* logits = args.in[0].f32();
  const int32_t* segments = args.in.back().i32();
  int32_t* ids = args.out[0].i32();
  float* weights = args.out[1].f32();
  const int64_t k = setup.k;
  ParallelRows(args.stream, shape.rows, 4 * setup.experts, [&](int64_t token) {
    if (segments[token] >= 0) {
      RouteToken(setup, logits + token * setup.experts, ids + token * k, weights + token * k);
      return;
    }
    std::fill_n(ids + token * k, k, -1);
    std::fill_n(weights + token * k, k, 0.0f);
  });
}

}  // namespace trireme
