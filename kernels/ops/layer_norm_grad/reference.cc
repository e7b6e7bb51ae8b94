// Reference of layer_norm_grad: with h = dy * w, n = (x - mean) * s and s = inv_std, dx = s * (h -
// mean(h) - n * mean(h * n)), dw = sum(dy * n), db = sum(dy). Shapes: R rows, N normalised.

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_layer_norm_grad(const KernelArgs& args) {
  const Tensor& dy_RN = args.in[0];
  const Tensor& x_RN = args.in[1];
  const Tensor& w_N = args.in[2];
  const int64_t n = LastSize(x_RN);
  std::vector<double> dw_N(n, 0.0), db_N(n, 0.0), normal_N(n);
  for (int64_t r = 0; r < NumRows(x_RN); ++r) {
    const double mean = Load(args.in[3], r);
    const double s = Load(args.in[4], r);
    double mean_h = 0, mean_hn = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double dy = Load(dy_RN, r * n + i);
      const double h = dy * Load(w_N, i);
      normal_N[i] = (Load(x_RN, r * n + i) - mean) * s;
      mean_h += h / static_cast<double>(n);
      mean_hn += h * normal_N[i] / static_cast<double>(n);
      dw_N[i] += dy * normal_N[i];
      db_N[i] += dy;
    }
    for (int64_t i = 0; i < n; ++i) {
      const double h = Load(dy_RN, r * n + i) * Load(w_N, i);
      Store(args.out[0], r * n + i, s * (h - mean_h - normal_N[i] * mean_hn));
    }
  }
  StoreAll(args.out[1], dw_N, args.accumulate);
  StoreAll(args.out[2], db_N, args.accumulate);
}

}  // namespace trireme
