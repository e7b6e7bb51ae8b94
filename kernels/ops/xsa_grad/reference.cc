// Reference of xsa_grad: with n = |v|^2 + eps, s = y.v / n and r = dy.v / n: dx = dy - r v and
// dv = -s dy - r (y - 2 s v), summed over the heads of a kv head.
#include "kernels/ops/reference_util.h"
#include "kernels/ops/xsa/operands.h"

namespace trireme {

void Reference_xsa_grad(const KernelArgs& args) {
  const XsaSizes sizes = MakeXsaSizes(args, /*y=*/1);
  std::vector<double> dv_RGD(args.out[1].count(), 0.0);
  for (int64_t row = 0; row < sizes.rows; ++row) {
    for (int64_t head = 0; head < sizes.heads; ++head) {
      const int64_t y = sizes.YOffset(row, head);
      const int64_t v = sizes.VOffset(row, head);
      double yv = 0, dv = 0, vv = 0;
      for (int64_t d = 0; d < sizes.head_dim; ++d) {
        const double value = Load(args.in[2], v + d);
        yv += Load(args.in[1], y + d) * value;
        dv += Load(args.in[0], y + d) * value;
        vv += value * value;
      }
      const double s = yv / (vv + kXsaEps);
      const double r = dv / (vv + kXsaEps);
      for (int64_t d = 0; d < sizes.head_dim; ++d) {
        const double dy = Load(args.in[0], y + d);
        const double value = Load(args.in[2], v + d);
        Store(args.out[0], y + d, dy - r * value);
        dv_RGD[v + d] -= s * dy + r * (Load(args.in[1], y + d) - 2 * s * value);
      }
    }
  }
  StoreAll(args.out[1], dv_RGD);
}

}  // namespace trireme
