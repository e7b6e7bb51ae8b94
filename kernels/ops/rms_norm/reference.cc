// Reference of rms_norm: y = x * inv_rms * w, inv_rms = 1 / sqrt(mean(x^2) + eps). Without w it
// is 1. Shapes: R rows, N normalised.

#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_rms_norm(const KernelArgs& args) {
  const Tensor& x_RN = args.in[0];
  const bool weighted = args.in.size() == 2;
  const double eps = args.attrs.GetDouble("eps");
  const int64_t n = LastSize(x_RN);
  for (int64_t r = 0; r < NumRows(x_RN); ++r) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += Load(x_RN, r * n + i) * Load(x_RN, r * n + i);
    const double inv_rms = 1.0 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i) {
      const double w = weighted ? Load(args.in[1], i) : 1.0;
      Store(args.out[0], r * n + i, Load(x_RN, r * n + i) * inv_rms * w);
    }
    Store(args.out[1], r, inv_rms);
  }
}

}  // namespace trireme
