// CUDA's words for code that g++ compiles to run on the CPU: included by kernels/device/cuda/cuda.h
// in place of the CUDA runtime. Only what our kernels use.
#ifndef TRIREME_KERNELS_TESTING_SIMT_SIMT_H_
#define TRIREME_KERNELS_TESTING_SIMT_SIMT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/testing/simt/grid.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
// Blocks run one after the other in one thread, so a block's memory may be everybody's.
#define __shared__ static

#define threadIdx (::trireme::simt::ThreadIndex())
#define blockIdx (::trireme::simt::BlockIndex())
#define blockDim (::trireme::simt::BlockSize())
#define gridDim (::trireme::simt::GridSize())

using dim3 = ::trireme::simt::Dim3;

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }

inline void __syncthreads() { ::trireme::simt::SyncBlock(); }
inline void __syncwarp(unsigned mask = ~0u) { ::trireme::simt::SyncWarp(mask); }

namespace trireme::simt {

template <typename T>
T Shuffle(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Exchange(mask, bits, source);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace trireme::simt

template <typename T>
T __shfl_sync(unsigned mask, T value, int source) {
  return ::trireme::simt::Shuffle(mask, value, source);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits) {
  return ::trireme::simt::Shuffle(mask, value, ::trireme::simt::Lane() ^ bits);
}
// Lanes past the end of the warp keep their own, as on the device.
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
  const unsigned lane = ::trireme::simt::Lane();
  return ::trireme::simt::Shuffle(mask, value, lane + delta < 32 ? lane + delta : lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta) {
  const unsigned lane = ::trireme::simt::Lane();
  return ::trireme::simt::Shuffle(mask, value, lane >= delta ? lane - delta : lane);
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  return ::trireme::simt::Ballot(mask, value != 0);
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    if (::trireme::simt::Shuffle(mask, value, lane) == value) same |= 1u << lane;
  }
  return same;
}
inline int __any_sync(unsigned mask, int value) { return __ballot_sync(mask, value) != 0; }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }

template <typename T>
T atomicAdd(T* to, T value) {
  T old = *to;
  __atomic_load(to, &old, __ATOMIC_RELAXED);
  T sum = old + value;
  while (!__atomic_compare_exchange(to, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    sum = old + value;
  }
  return old;
}
inline int atomicMax(int* to, int value) {
  int old = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (old < value &&
         !__atomic_compare_exchange_n(to, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}

inline int __float_as_int(float x) {
  int bits = 0;
  std::memcpy(&bits, &x, sizeof(x));
  return bits;
}
inline float __int_as_float(int bits) {
  float x = 0;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}

// Sine and cosine of pi x.
inline void sincospif(float x, float* sine, float* cosine) {
  const double angle = 3.141592653589793 * static_cast<double>(x);
  *sine = static_cast<float>(std::sin(angle));
  *cosine = static_cast<float>(std::cos(angle));
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
template <typename T>
T __ldg(const T* p) {
  return *p;
}
using std::max;
using std::min;

#endif  // TRIREME_KERNELS_TESTING_SIMT_SIMT_H_
