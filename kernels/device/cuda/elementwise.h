// One pass over arrays of equal length, element by element, with 16-byte accesses where all of them
// are aligned. Outputs may be the memory of inputs.
#ifndef TRIREME_KERNELS_DEVICE_CUDA_ELEMENTWISE_H_
#define TRIREME_KERNELS_DEVICE_CUDA_ELEMENTWISE_H_

#include "kernels/device/cuda/wide.h"

namespace trireme {

inline constexpr int kElementwiseThreads = 256;

template <int kIn, int kOut>
struct Arrays {
  const float* in[kIn];
  float* out[kOut];
  int64_t count;
  int64_t quads;  // groups of four elements, from the first, that are moved together

  // Threads that have something to do.
  int64_t units() const { return count - 3 * quads; }
};

template <int kIn, int kOut>
Arrays<kIn, kOut> MakeArrays(const float* const (&in)[kIn], float* const (&out)[kOut],
                             int64_t count) {
  Arrays<kIn, kOut> arrays = {};
  arrays.count = count;
  bool aligned = true;
  for (int k = 0; k < kIn; ++k) aligned = AreAligned16(arrays.in[k] = in[k]) && aligned;
  for (int k = 0; k < kOut; ++k) aligned = AreAligned16(arrays.out[k] = out[k]) && aligned;
  arrays.quads = aligned ? count / 4 : 0;
  return arrays;
}

// f(const float* x, float* y) once an element: from the kIn inputs to the kOut outputs. The whole
// grid calls it.
template <int kIn, int kOut, typename F>
__device__ __forceinline__ void ForEachElement(const Arrays<kIn, kOut>& arrays, const F& f) {
  for (int64_t q = GridIndex(); q < arrays.quads; q += GridStride()) {
    Wide<float, 4> in[kIn], out[kOut];
#pragma unroll
    for (int k = 0; k < kIn; ++k) in[k] = LoadWide<4>(arrays.in[k], q);
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      float x[kIn], y[kOut];
#pragma unroll
      for (int k = 0; k < kIn; ++k) x[k] = in[k].at[lane];
      f(x, y);
#pragma unroll
      for (int k = 0; k < kOut; ++k) out[k].at[lane] = y[k];
    }
#pragma unroll
    for (int k = 0; k < kOut; ++k) StoreWide<4>(arrays.out[k], q, out[k]);
  }
  for (int64_t i = 4 * arrays.quads + GridIndex(); i < arrays.count; i += GridStride()) {
    float x[kIn], y[kOut];
#pragma unroll
    for (int k = 0; k < kIn; ++k) x[k] = arrays.in[k][i];
    f(x, y);
#pragma unroll
    for (int k = 0; k < kOut; ++k) arrays.out[k][i] = y[k];
  }
}

template <typename F, int kIn, int kOut>
__global__ void __launch_bounds__(kElementwiseThreads)
    ElementwiseKernel(F f, Arrays<kIn, kOut> arrays) {
  ForEachElement(arrays, f);
}

// Launches f over `count` elements. Example: Elementwise(args, Add{}, {a, b}, {y}, n).
template <typename F, int kIn, int kOut>
void Elementwise(const KernelArgs& args, const F& f, const float* const (&in)[kIn],
                 float* const (&out)[kOut], int64_t count) {
  if (count == 0) return;
  const Arrays<kIn, kOut> arrays = MakeArrays(in, out, count);
  auto* const kernel = ElementwiseKernel<F, kIn, kOut>;
  TRIREME_LAUNCH(args, BlocksFor(arrays.units(), kElementwiseThreads), kElementwiseThreads, 0,
                 kernel, f, arrays);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_ELEMENTWISE_H_
