// What every cuda.cu includes: CUDA where nvcc compiles it, the words of kernels/testing/simt where
// g++ does, so that the same source runs on a GPU and, for tests, on the CPU. Launches and dynamic
// shared memory differ in syntax only; these macros hide it.
#ifndef TRIREME_KERNELS_DEVICE_CUDA_CUDA_H_
#define TRIREME_KERNELS_DEVICE_CUDA_CUDA_H_

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include "kernels/testing/simt/simt.h"
#endif

#include "kernels/device/tensor.h"
#include "kernels/ops/kernel.h"

// Starts `kernel` on the stream of `args` (a KernelArgs). Whether the launch was accepted is asked
// by who runs the program, once a call: cudaGetLastError.
#if defined(__CUDACC__)
#define TRIREME_LAUNCH(args, grid, block, shared_bytes, kernel, ...)                            \
  kernel<<<(grid), (block), (shared_bytes), static_cast<cudaStream_t>((args).stream.handle)>>>( \
      __VA_ARGS__)
#define TRIREME_DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char trireme_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(trireme_dynamic_shared)
#else
#define TRIREME_LAUNCH(args, grid, block, shared_bytes, kernel, ...) \
  ::trireme::simt::Launch(#kernel, (grid), (block), (shared_bytes), [&] { kernel(__VA_ARGS__); })
#define TRIREME_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::trireme::simt::DynamicShared())
#endif

namespace trireme {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = ~0u;

// Blocks of `threads` that cover `count` elements, at most `most`: kernels go on in strides of the
// grid.
inline unsigned BlocksFor(int64_t count, int threads, int64_t most = 132 * 16) {
  const int64_t blocks = (count + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

// First element of a grid-stride loop, and its stride.
__device__ __forceinline__ int64_t GridIndex() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t GridStride() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

template <typename T>
__device__ __forceinline__ T WarpSum(T value) {
  for (int bits = kWarp / 2; bits > 0; bits /= 2) value += __shfl_xor_sync(kAllLanes, value, bits);
  return value;
}
template <typename T>
__device__ __forceinline__ T WarpMax(T value) {
  for (int bits = kWarp / 2; bits > 0; bits /= 2) {
    const T other = __shfl_xor_sync(kAllLanes, value, bits);
    value = other > value ? other : value;
  }
  return value;
}

// Sum over the block in every thread, in an order that depends on nothing but the block's size.
// `shared` has room for one number a warp; it may be used again after the call. The block is whole
// warps.
template <typename T>
__device__ __forceinline__ T BlockSum(T value, T* shared) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int warps = blockDim.x / kWarp;
  value = WarpSum(value);
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  T sum = 0;
  for (int w = 0; w < warps; ++w) sum += shared[w];
  __syncthreads();
  return sum;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_CUDA_H_
