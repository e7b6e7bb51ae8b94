// y = f(a, b) where b lacks dims of a: its first ones (b is repeated as a whole) or its last ones
// (each number of b is repeated). 8 bytes are moved an element, b comes from caches.
#ifndef TRIREME_KERNELS_DEVICE_CUDA_BROADCAST_H_
#define TRIREME_KERNELS_DEVICE_CUDA_BROADCAST_H_

#include "kernels/device/cuda/divide.h"
#include "kernels/device/cuda/elementwise.h"

namespace trireme {

// f(a, b) in the form of Elementwise.
template <typename F>
struct OfPair {
  F f;
  __device__ __forceinline__ void operator()(const float* x, float* y) const {
    y[0] = f(x[0], x[1]);
  }
};

// Groups of kWidth elements. `split` divides by the groups of b, or by those that one number of b
// serves.
template <typename F, bool kLeading, int kWidth>
__global__ void __launch_bounds__(kElementwiseThreads)
    BroadcastKernel(F f, const float* a, const float* b, float* y, int64_t groups, Divider split) {
  for (int64_t i = GridIndex(); i < groups; i += GridStride()) {
    Wide<float, kWidth> x = LoadWide<kWidth>(a, i), other;
    if constexpr (kLeading) {
      const float number = b[split.Quotient(i)];
#pragma unroll
      for (int lane = 0; lane < kWidth; ++lane) other.at[lane] = number;
    } else {
      other = LoadWide<kWidth>(b, split.Divide(i).remainder);
    }
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) x.at[lane] = f(x.at[lane], other.at[lane]);
    StoreWide<kWidth>(y, i, x);
  }
}

template <typename F, bool kLeading>
void BroadcastBy(const KernelArgs& args, const F& f, const float* a, const float* b, float* y,
                 int64_t count, int64_t split) {
  const bool wide = split % 4 == 0 && AreAligned16(a, y) && (kLeading || AreAligned16(b));
  const int64_t groups = wide ? count / 4 : count;
  auto* const kernel = wide ? BroadcastKernel<F, kLeading, 4> : BroadcastKernel<F, kLeading, 1>;
  TRIREME_LAUNCH(args, BlocksFor(groups, kElementwiseThreads), kElementwiseThreads, 0, kernel, f, a,
                 b, y, groups, Divider(wide ? split / 4 : split));
}

// out 0 = f(in 0, in 1), float32. `leading`: in 1 has the first dims of in 0, not its last.
template <typename F>
void Broadcast(const KernelArgs& args, const F& f, bool leading) {
  const float* a = args.in[0].f32();
  const float* b = args.in[1].f32();
  float* y = args.out[0].f32();
  const int64_t count = args.out[0].count();
  const int64_t period = args.in[1].count();
  if (count == 0) return;
  if (period == count) return Elementwise(args, OfPair<F>{f}, {a, b}, {y}, count);
  if (leading || period == 1) return BroadcastBy<F, true>(args, f, a, b, y, count, count / period);
  BroadcastBy<F, false>(args, f, a, b, y, count, period);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_BROADCAST_H_
