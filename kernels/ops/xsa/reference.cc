// Reference of xsa: y - s v with s = y.v / (|v|^2 + eps).
#include "kernels/ops/reference_util.h"
#include "kernels/ops/xsa/operands.h"

namespace trireme {

void Reference_xsa(const KernelArgs& args) {
  const XsaSizes sizes = MakeXsaSizes(args, /*y=*/0);
  for (int64_t row = 0; row < sizes.rows; ++row) {
    for (int64_t head = 0; head < sizes.heads; ++head) {
      const int64_t y = sizes.YOffset(row, head);
      const int64_t v = sizes.VOffset(row, head);
      double yv = 0, vv = 0;
      for (int64_t d = 0; d < sizes.head_dim; ++d) {
        yv += Load(args.in[0], y + d) * Load(args.in[1], v + d);
        vv += Load(args.in[1], v + d) * Load(args.in[1], v + d);
      }
      const double s = yv / (vv + kXsaEps);
      for (int64_t d = 0; d < sizes.head_dim; ++d) {
        Store(args.out[0], y + d, Load(args.in[0], y + d) - s * Load(args.in[1], v + d));
      }
    }
  }
}

}  // namespace trireme
