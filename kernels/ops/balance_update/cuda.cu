// New biases of a router by one block: a launch's latency, which a step pays once a router. See
// reference.cc for when they stay. The output may be the memory of the old biases.
#include "kernels/device/cuda/cuda.h"
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <bool kQuantile>
__global__ void __launch_bounds__(kThreads)
    BalanceUpdate(const float* old, const double* stats, const double* values,
                  const double* control, float* bias, int64_t experts, double rate) {
  __shared__ double shared[kThreads / kWarp];
  double sum = 0;
  for (int64_t e = threadIdx.x; e < experts; e += kThreads) sum += values[e];
  const double mean = BlockSum(sum, shared) / static_cast<double>(experts);
  const double tokens = stats[kRouterTokens];
  // mean - mean is 0 where it is finite.
  const bool apply = control[kControlApply] != 0 && tokens > 0 && mean - mean == 0;
  for (int64_t e = threadIdx.x; e < experts; e += kThreads) {
    const double missing = mean - values[e];
    double value = old[e];
    if (apply && kQuantile) value = missing / tokens;
    if (apply && !kQuantile) value += missing > 0 ? rate : missing < 0 ? -rate : 0.0;
    bias[e] = static_cast<float>(value);
  }
}

}  // namespace

void Cuda_balance_update(const KernelArgs& args) {
  const int64_t experts = args.in[0].count();
  if (experts == 0) return;
  const bool is_quantile = args.attrs.GetString("rule") == "quantile";
  const double* stats = args.in[1].f64();
  const double* values = stats + (is_quantile ? RouterBetas(experts) : kRouterLoads);
  auto* const kernel = is_quantile ? BalanceUpdate<true> : BalanceUpdate<false>;
  TRIREME_LAUNCH(args, 1, kThreads, 0, kernel, args.in[0].f32(), stats, values, args.in[2].f64(),
                 args.out[0].f32(), experts, args.attrs.GetDouble("rate"));
}

}  // namespace trireme
