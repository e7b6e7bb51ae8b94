// exp and what follows from it in single precision, written so that loops over them vectorise.
// Relative error of FastExp is below 2e-7 where the result is a normal number.
#ifndef TRIREME_KERNELS_DEVICE_SIMD_MATH_H_
#define TRIREME_KERNELS_DEVICE_SIMD_MATH_H_

#include <bit>
#include <cstdint>

#include "kernels/device/simd.h"

namespace trireme {

// e^x; 0 below -87.3 (so also at -infinity), saturates above 88.3, NaN stays NaN.
// x = n ln 2 + r, |r| <= ln 2 / 2; polynomial for e^r. Source: Cephes expf (S. Moshier).
TRIREME_SIMD float FastExp(float x) {
  constexpr float kLowest = -87.3f;
  constexpr float kHighest = 88.3f;
  constexpr float kRound =
      12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  float clamped = x < kLowest ? kLowest : x;
  clamped = clamped > kHighest ? kHighest : clamped;
  const float shifted = clamped * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const int32_t exponent = (std::bit_cast<int32_t>(shifted) << 23) + (127 << 23);
  const float y = p * std::bit_cast<float>(exponent);
  return x < kLowest ? 0.0f : y;
}

// 1 / (1 + e^-x).
TRIREME_SIMD float FastSigmoid(float x) { return 1.0f / (1.0f + FastExp(-x)); }

// False for infinities and NaN.
TRIREME_SIMD bool IsFiniteBits(float x) {
  return (std::bit_cast<uint32_t>(x) & 0x7f800000u) != 0x7f800000u;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_SIMD_MATH_H_
