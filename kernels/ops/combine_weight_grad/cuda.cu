// Zeros for assignments that are elsewhere, then one block a slot: the product of its row and its
// token's dy. Bounded by the 8 bytes an element read.
#include "kernels/device/cuda/cuda.h"
#include "kernels/ops/dispatch/slots.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) Zero(float* __restrict__ dweights, int64_t count) {
  for (int64_t i = GridIndex(); i < count; i += GridStride()) dweights[i] = 0;
}

__global__ void __launch_bounds__(kThreads)
    CombineWeightGrad(const float* __restrict__ dy, const float* __restrict__ rows,
                      const int32_t* __restrict__ assignments, float* __restrict__ dweights,
                      int64_t embed, int64_t k, bool accumulate) {
  __shared__ float shared[kThreads / kWarp];
  const int64_t assignment = assignments[blockIdx.x];
  if (assignment < 0) return;  // the whole block
  dy += assignment / k * embed;
  rows += blockIdx.x * embed;
  float sum = 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < embed; i += kThreads) sum += dy[i] * rows[i];
  sum = BlockSum(sum, shared);
  if (threadIdx.x != 0) return;
  dweights[assignment] = accumulate ? dweights[assignment] + sum : sum;
}

}  // namespace

void Cuda_combine_weight_grad(const KernelArgs& args) {
  const Tensor& rows = args.in[1];
  const Tensor& dweights = args.out[0];
  const int64_t count = dweights.count();
  if (count == 0) return;
  if (!args.accumulate) {
    TRIREME_LAUNCH(args, BlocksFor(count, kThreads), kThreads, 0, Zero, dweights.f32(), count);
  }
  const WaveSource source = SourceOfWave(args.in[2], args.attrs.GetInt("wave"));
  if (source.slots == 0) return;
  TRIREME_LAUNCH(args, static_cast<unsigned>(source.slots), kThreads, 0, CombineWeightGrad,
                 args.in[0].f32(), rows.f32(), source.assignments, dweights.f32(),
                 rows.sizes.back(), args.in[3].sizes.back(), args.accumulate);
}

}  // namespace trireme
