// What the router's GPU kernels share: the order of choice as integers, the largest of a row by
// rounds of a warp's maximum, and scores. One warp a token.
#ifndef TRIREME_KERNELS_OPS_ROUTE_CUDA_SELECT_H_
#define TRIREME_KERNELS_OPS_ROUTE_CUDA_SELECT_H_

#include <cmath>

#include "kernels/device/cuda/rows.h"

namespace trireme {

inline constexpr int32_t kKeyOfNan = 0x7fffffff;
inline constexpr int32_t kKeyTaken = -0x7fffffff - 1;  // below every float's key

// An integer that orders as the float does: NaN above everything, -0 equal to 0.
__device__ __forceinline__ int32_t OrderKey(float x) {
  const int32_t bits = __float_as_int(x + 0.0f);
  return x != x ? kKeyOfNan : bits ^ ((bits >> 31) & 0x7fffffff);
}
// The float of a key.
__device__ __forceinline__ float FromOrderKey(int32_t key) {
  return __int_as_float(key ^ ((key >> 31) & 0x7fffffff));
}

struct Choice {
  int32_t key;
  int id;
};

// The largest of keys[0, n), ties: the lower index, in every lane; marks it taken. Before the call
// each lane l has written keys l, l + 32, ..., or has taken from them.
__device__ __forceinline__ Choice TakeLargest(int32_t* keys, int n) {
  const int lane = threadIdx.x % kWarp;
  int64_t best = int64_t{kKeyTaken} * (int64_t{1} << 32);
  for (int e = lane; e < n; e += kWarp) {
    // The key above, the complement of the index below it.
    const int64_t here = int64_t{keys[e]} * (int64_t{1} << 32) + (0x7fffffff - e);
    best = here > best ? here : best;
  }
  best = WarpMax(best);
  const Choice choice = {static_cast<int32_t>(best >> 32),
                         0x7fffffff - static_cast<int32_t>(best & 0x7fffffff)};
  if (choice.id % kWarp == lane) keys[choice.id] = kKeyTaken;
  return choice;
}

// Warps of a block that each have a row of `n` keys in shared memory. CHECK-fails where not one
// fits.
inline int WarpsWithRows(int64_t n, const char* what) {
  constexpr int64_t kSharedKeys = 47 * 1024 / sizeof(int32_t);  // of 48 KiB
  CHECK(n <= kSharedKeys) << what << ": " << n << " experts are more than the " << kSharedKeys
                          << " that fit a GPU's shared memory";
  return static_cast<int>(n > 0 && kSharedKeys / n < kRowWarps ? kSharedKeys / n : kRowWarps);
}

__device__ __forceinline__ float CudaSigmoid(float z) { return 1 / (1 + expf(-z)); }

// The softmax of z[0, n) at e is expf(z[e] - max) * scale.
struct SoftmaxOf {
  float max;
  float scale;
  __device__ __forceinline__ float operator()(float z) const { return expf(z - max) * scale; }
};

__device__ __forceinline__ SoftmaxOf WarpSoftmax(const float* z, int n) {
  const int lane = threadIdx.x % kWarp;
  float max = -INFINITY;
  for (int e = lane; e < n; e += kWarp) max = z[e] > max ? z[e] : max;
  max = WarpMax(max);
  float sum = 0;
  for (int e = lane; e < n; e += kWarp) sum += expf(z[e] - max);
  return {max, 1 / WarpSum(sum)};
}

// Softmax of z at the indexes ids[0, k).
__device__ __forceinline__ SoftmaxOf WarpSoftmaxOfChosen(const float* z, const int32_t* ids,
                                                         int k) {
  const int lane = threadIdx.x % kWarp;
  float max = -INFINITY;
  for (int c = lane; c < k; c += kWarp) max = z[ids[c]] > max ? z[ids[c]] : max;
  max = WarpMax(max);
  float sum = 0;
  for (int c = lane; c < k; c += kWarp) sum += expf(z[ids[c]] - max);
  return {max, 1 / WarpSum(sum)};
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTE_CUDA_SELECT_H_
