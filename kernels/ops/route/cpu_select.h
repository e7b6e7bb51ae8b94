// The largest of a row of floats, in the order of routing.h, by insertion into a short list: most
// elements cost one comparison. Also rows of scores.
#ifndef TRIREME_KERNELS_OPS_ROUTE_CPU_SELECT_H_
#define TRIREME_KERNELS_OPS_ROUTE_CPU_SELECT_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/device/simd_math.h"

namespace trireme {

// An integer that orders as the float does: NaN above everything, -0 equal to 0.
TRIREME_SIMD int32_t OrderKey(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x + 0.0f);
  const int32_t key = bits ^ ((bits >> 31) & 0x7fffffff);
  return x != x ? std::numeric_limits<int32_t>::max() : key;
}

// The float of a key.
TRIREME_SIMD float FromOrderKey(int32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) & 0x7fffffff));
}

// ids[0, k) = indexes of the k largest of s[0, n) in falling order, ties: the lower index; keys as
// OrderKey. 1 <= k <= n.
inline void SelectLargest(const float* s, int64_t n, int64_t k, int32_t* ids, int32_t* keys) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t key = OrderKey(s[i]);
    if (count == k && key <= keys[k - 1]) continue;
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && keys[at - 1] < key; --at) {
      keys[at] = keys[at - 1];
      ids[at] = ids[at - 1];
    }
    keys[at] = key;
    ids[at] = static_cast<int32_t>(i);
  }
}

TRIREME_SIMD float LargestOf(const float* z, int64_t n) {
  float max = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : max)
  for (int64_t i = 0; i < n; ++i) max = z[i] > max ? z[i] : max;
  return max;
}

// p = softmax of z.
TRIREME_SIMD void SoftmaxRow(const float* z, float* p, int64_t n) {
  const float max = LargestOf(z, n);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += p[i] = FastExp(z[i] - max);
  const float scale = 1 / sum;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) p[i] *= scale;
}

TRIREME_SIMD void SigmoidRow(const float* z, float* p, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) p[i] = FastSigmoid(z[i]);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTE_CPU_SELECT_H_
