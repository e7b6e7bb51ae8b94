// Reference of layer_norm: y = (x - mean) * inv_std * w + b, variance without Bessel's correction.
// Shapes: R rows, N normalised.

#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_layer_norm(const KernelArgs& args) {
  const Tensor& x_RN = args.in[0];
  const double eps = args.attrs.GetDouble("eps");
  const int64_t n = LastSize(x_RN);
  for (int64_t r = 0; r < NumRows(x_RN); ++r) {
    double mean = 0;
    for (int64_t i = 0; i < n; ++i) mean += Load(x_RN, r * n + i) / static_cast<double>(n);
    double variance = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double centred = Load(x_RN, r * n + i) - mean;
      variance += centred * centred / static_cast<double>(n);
    }
    const double inv_std = 1.0 / std::sqrt(variance + eps);
    for (int64_t i = 0; i < n; ++i) {
      const double normal = (Load(x_RN, r * n + i) - mean) * inv_std;
      Store(args.out[0], r * n + i, normal * Load(args.in[1], i) + Load(args.in[2], i));
    }
    Store(args.out[1], r, mean);
    Store(args.out[2], r, inv_std);
  }
}

}  // namespace trireme
