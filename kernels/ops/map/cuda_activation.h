// The elementwise functions of map and their derivatives in single precision, on the GPU.
#ifndef TRIREME_KERNELS_OPS_MAP_CUDA_ACTIVATION_H_
#define TRIREME_KERNELS_OPS_MAP_CUDA_ACTIVATION_H_

#include "kernels/device/cuda/cuda.h"
#include "kernels/ops/map/activation.h"

namespace trireme {

// 1 / (1 + exp(-x)): 0 where exp overflows; the division may be off by 2 units in the last place.
__device__ __forceinline__ float CudaSigmoid(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }

// 0.5 (1 + tanh(u)) = sigmoid(2 u) at u = kGeluScale (x + kGeluCubic x^3).
__device__ __forceinline__ float CudaGeluGate(float x) {
  constexpr float kLinear = static_cast<float>(2 * kGeluScale);
  constexpr float kCubic = static_cast<float>(2 * kGeluScale * kGeluCubic);
  return CudaSigmoid(x * (kLinear + kCubic * x * x));
}

template <Activation kKind>
__device__ __forceinline__ float CudaActivate(float x) {
  if constexpr (kKind == Activation::kGeluTanh) return x * CudaGeluGate(x);
  if constexpr (kKind == Activation::kSilu) return x * CudaSigmoid(x);
  if constexpr (kKind == Activation::kRelu) return x > 0 ? x : 0.0f;
  if constexpr (kKind == Activation::kSigmoid) return CudaSigmoid(x);
}

template <Activation kKind>
__device__ __forceinline__ float CudaActivateGrad(float x) {
  if constexpr (kKind == Activation::kGeluTanh) {
    constexpr float kLinear = static_cast<float>(2 * kGeluScale);
    constexpr float kCubic = static_cast<float>(6 * kGeluScale * kGeluCubic);
    const float gate = CudaGeluGate(x);
    return gate + x * gate * (1 - gate) * (kLinear + kCubic * x * x);
  }
  if constexpr (kKind == Activation::kSilu) {
    const float gate = CudaSigmoid(x);
    return gate * (1 + x * (1 - gate));
  }
  if constexpr (kKind == Activation::kRelu) return x > 0 ? 1.0f : 0.0f;
  if constexpr (kKind == Activation::kSigmoid) {
    const float gate = CudaSigmoid(x);
    return gate * (1 - gate);
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_MAP_CUDA_ACTIVATION_H_
