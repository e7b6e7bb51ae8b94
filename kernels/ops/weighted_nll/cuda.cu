// Sum over a rank's tokens in double, by one block: 12 bytes a token, of which there are too few
// for more blocks to matter.
#include "kernels/device/cuda/cuda.h"

namespace trireme {
namespace {

constexpr int kThreads = 1024;

__global__ void __launch_bounds__(kThreads)
    WeightedNll(const float* __restrict__ lse, const float* __restrict__ target_logit,
                const float* __restrict__ weights, double* loss, int64_t tokens) {
  __shared__ double shared[kThreads / kWarp];
  double sum = 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < tokens; i += kThreads) {
    const double weight = weights[i];
    const double nll = static_cast<double>(lse[i]) - static_cast<double>(target_logit[i]);
    sum += weight != 0 ? weight * nll : 0.0;
  }
  sum = BlockSum(sum, shared);
  if (threadIdx.x == 0) *loss = sum;
}

}  // namespace

void Cuda_weighted_nll(const KernelArgs& args) {
  TRIREME_LAUNCH(args, 1, kThreads, 0, WeightedNll, args.in[0].f32(), args.in[1].f32(),
                 args.in[2].f32(), args.out[0].f64(), args.in[0].count());
}

}  // namespace trireme
