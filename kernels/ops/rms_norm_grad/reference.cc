// Reference of rms_norm_grad: with h = dy * w and s = inv_rms, dx = s * (h - x * s^2 * mean(h * x))
// and dw = sum(dy * x * s). Without w it is 1. Shapes: R rows, N normalised.

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_rms_norm_grad(const KernelArgs& args) {
  const Tensor& dy_RN = args.in[0];
  const Tensor& x_RN = args.in[1];
  const bool weighted = args.in.size() == 4;
  const int64_t n = LastSize(x_RN);
  const Tensor& inv_rms_R = args.in[weighted ? 3 : 2];
  const std::vector<double> w_N = weighted ? LoadAll(args.in[2]) : std::vector<double>(n, 1.0);
  std::vector<double> dw_N(n, 0.0);
  for (int64_t r = 0; r < NumRows(x_RN); ++r) {
    const double s = Load(inv_rms_R, r);
    double mean = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double dy = Load(dy_RN, r * n + i);
      const double x = Load(x_RN, r * n + i);
      mean += dy * w_N[i] * x / static_cast<double>(n);
      dw_N[i] += dy * x * s;
    }
    for (int64_t i = 0; i < n; ++i) {
      const double h = Load(dy_RN, r * n + i) * w_N[i];
      Store(args.out[0], r * n + i, s * (h - Load(x_RN, r * n + i) * s * s * mean));
    }
  }
  if (weighted) StoreAll(args.out[1], dw_N, args.accumulate);
}

}  // namespace trireme
