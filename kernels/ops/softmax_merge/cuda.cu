// Two partial attentions merged, a warp a row: 12 bytes an element. The outputs may be the memory
// of either side.
#include <cmath>

#include "kernels/device/cuda/wide.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

// What a row takes of each side; a side of weight 0 is not read, so the other is kept bit for bit.
struct Merge {
  float lse, weight1, weight2;
};

__device__ __forceinline__ Merge MergeOf(float lse1, float lse2) {
  const bool has1 = lse1 != -INFINITY;
  const bool has2 = lse2 != -INFINITY;
  if (!has1 || !has2) return {has1 ? lse1 : lse2, has1 ? 1.0f : 0.0f, has2 ? 1.0f : 0.0f};
  const float high = lse1 > lse2 ? lse1 : lse2;
  const float part1 = expf(lse1 - high);
  const float part2 = expf(lse2 - high);
  const float sum = part1 + part2;
  return {high + logf(sum), part1 / sum, part2 / sum};
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    SoftmaxMerge(const float* o1, const float* lse1, const float* o2, const float* lse2, float* o,
                 float* lse, int64_t rows, int64_t groups) {
  const int lane = threadIdx.x % kWarp;
  for (int64_t row = GridIndex() / kWarp; row < rows; row += GridStride() / kWarp) {
    const float given1 = lse1[row];
    const float given2 = lse2[row];
    const Merge merge = MergeOf(given1, given2);
    for (int64_t i = row * groups + lane; i < (row + 1) * groups; i += kWarp) {
      Wide<float, kWidth> x1 = {}, x2 = {};
      if (given1 != -INFINITY) x1 = LoadWide<kWidth>(o1, i);
      if (given2 != -INFINITY) x2 = LoadWide<kWidth>(o2, i);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        x1.at[k] = x1.at[k] * merge.weight1 + x2.at[k] * merge.weight2;
      }
      StoreWide<kWidth>(o, i, x1);
    }
    __syncwarp();  // every lane has read lse1 and lse2
    if (lane == 0) lse[row] = merge.lse;
  }
}

}  // namespace

void Cuda_softmax_merge(const KernelArgs& args) {
  const float* o1 = args.in[0].f32();
  const float* o2 = args.in[2].f32();
  float* o = args.out[0].f32();
  const int64_t rows = args.in[1].count();
  const int64_t size = args.in[0].sizes.back();
  if (rows == 0) return;
  const bool wide = size % 4 == 0 && AreAligned16(o1, o2, o);
  auto* const kernel = wide ? SoftmaxMerge<4> : SoftmaxMerge<1>;
  TRIREME_LAUNCH(args, BlocksFor(rows * kWarp, kThreads), kThreads, 0, kernel, o1, args.in[1].f32(),
                 o2, args.in[3].f32(), o, args.out[1].f32(), rows, wide ? size / 4 : size);
}

}  // namespace trireme
