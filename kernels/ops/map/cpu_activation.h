// The elementwise functions of map and their derivatives in single precision, for vectorised loops.
#ifndef TRIREME_KERNELS_OPS_MAP_CPU_ACTIVATION_H_
#define TRIREME_KERNELS_OPS_MAP_CPU_ACTIVATION_H_

#include "kernels/device/simd_math.h"
#include "kernels/ops/map/activation.h"

namespace trireme {

// 0.5 (1 + tanh(u)) = sigmoid(2 u) at u = kGeluScale (x + kGeluCubic x^3).
TRIREME_SIMD float GeluGate(float x) {
  constexpr float kLinear = static_cast<float>(2 * kGeluScale);
  constexpr float kCubic = static_cast<float>(2 * kGeluScale * kGeluCubic);
  return FastSigmoid(x * (kLinear + kCubic * x * x));
}

template <Activation kKind>
TRIREME_SIMD float FastActivate(float x) {
  if constexpr (kKind == Activation::kGeluTanh) return x * GeluGate(x);
  if constexpr (kKind == Activation::kSilu) return x * FastSigmoid(x);
  if constexpr (kKind == Activation::kRelu) return x > 0 ? x : 0.0f;
  if constexpr (kKind == Activation::kSigmoid) return FastSigmoid(x);
}

template <Activation kKind>
TRIREME_SIMD float FastActivateGrad(float x) {
  if constexpr (kKind == Activation::kGeluTanh) {
    constexpr float kLinear = static_cast<float>(2 * kGeluScale);
    constexpr float kCubic = static_cast<float>(6 * kGeluScale * kGeluCubic);
    const float gate = GeluGate(x);
    return gate + x * gate * (1 - gate) * (kLinear + kCubic * x * x);
  }
  if constexpr (kKind == Activation::kSilu) {
    const float gate = FastSigmoid(x);
    return gate * (1 + x * (1 - gate));
  }
  if constexpr (kKind == Activation::kRelu) return x > 0 ? 1.0f : 0.0f;
  if constexpr (kKind == Activation::kSigmoid) {
    const float gate = FastSigmoid(x);
    return gate * (1 - gate);
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_MAP_CPU_ACTIVATION_H_
