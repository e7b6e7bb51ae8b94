// Reference of rope: rotates (x[i], x[i + R/2]) by position * theta^(-2i/R), i < R/2, the other way
// round when inverse; R is rotary_dim, elements from R on are copied. Shapes: B batch, P positions,
// H heads, D head size.

#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_rope(const KernelArgs& args) {
  const Tensor& x_BPHD = args.in[0];
  const double theta = args.attrs.GetDouble("theta");
  const double sign = args.attrs.GetInt("inverse", 0) != 0 ? -1.0 : 1.0;
  const int64_t heads = x_BPHD.size(2);
  const int64_t size = x_BPHD.size(3);
  const int64_t half = args.attrs.GetInt("rotary_dim", size) / 2;
  for (int64_t row = 0; row < NumRows(x_BPHD); ++row) {
    const double position = Load(args.in[1], row / heads);
    for (int64_t i = 0; i < half; ++i) {
      const double frequency = std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
      const double cosine = std::cos(position * frequency);
      const double sine = sign * std::sin(position * frequency);
      const int64_t low = row * size + i;
      const double a = Load(x_BPHD, low);
      const double b = Load(x_BPHD, low + half);
      Store(args.out[0], low, a * cosine - b * sine);
      Store(args.out[0], low + half, b * cosine + a * sine);
    }
    for (int64_t i = row * size + 2 * half; i < (row + 1) * size; ++i) {
      Store(args.out[0], i, Load(x_BPHD, i));
    }
  }
}

}  // namespace trireme
