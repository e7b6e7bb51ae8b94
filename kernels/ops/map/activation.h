// The elementwise functions of map and their derivatives, in double precision.
#ifndef TRIREME_KERNELS_OPS_MAP_ACTIVATION_H_
#define TRIREME_KERNELS_OPS_MAP_ACTIVATION_H_

#include <cmath>
#include <optional>
#include <string_view>

namespace trireme {

enum class Activation { kGeluTanh, kSilu, kRelu, kSigmoid };

// For messages about kinds that are none of them.
inline constexpr const char kActivationNames[] = "gelu_tanh, silu, relu or sigmoid";

inline std::optional<Activation> ParseActivation(std::string_view kind) {
  if (kind == "gelu_tanh") return Activation::kGeluTanh;
  if (kind == "silu") return Activation::kSilu;
  if (kind == "relu") return Activation::kRelu;
  if (kind == "sigmoid") return Activation::kSigmoid;
  return std::nullopt;
}

inline double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double Silu(double x) { return x * Sigmoid(x); }
inline double SiluGrad(double x) {
  const double s = Sigmoid(x);
  return s * (1.0 + x * (1.0 - s));
}

// GELU by tanh (Hendrycks & Gimpel 2016, arXiv:1606.08415): 0.5 x (1 + tanh(sqrt(2/pi) (x +
// 0.044715 x^3))).
inline constexpr double kGeluScale = 0.79788456080286535588;
inline constexpr double kGeluCubic = 0.044715;
inline double Gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(kGeluScale * (x + kGeluCubic * x * x * x)));
}
inline double GeluGrad(double x) {
  const double t = std::tanh(kGeluScale * (x + kGeluCubic * x * x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * kGeluScale * (1.0 + 3.0 * kGeluCubic * x * x);
}

inline double Activate(Activation kind, double x) {
  switch (kind) {
    case Activation::kGeluTanh:
      return Gelu(x);
    case Activation::kSilu:
      return Silu(x);
    case Activation::kRelu:
      return x > 0 ? x : 0.0;
    case Activation::kSigmoid:
      return Sigmoid(x);
  }
  return 0.0;
}

// The derivative at x; relu's at 0 is 0.
inline double ActivateGrad(Activation kind, double x) {
  switch (kind) {
    case Activation::kGeluTanh:
      return GeluGrad(x);
    case Activation::kSilu:
      return SiluGrad(x);
    case Activation::kRelu:
      return x > 0 ? 1.0 : 0.0;
    case Activation::kSigmoid:
      return Sigmoid(x) * (1.0 - Sigmoid(x));
  }
  return 0.0;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_MAP_ACTIVATION_H_
