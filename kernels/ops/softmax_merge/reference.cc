// Reference of softmax_merge: lse = log(exp lse1 + exp lse2), o = o1 exp(lse1 - lse) + o2 exp(lse2
// - lse). A side with lse = -inf saw no key: its o is not read.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_softmax_merge(const KernelArgs& args) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const int64_t size = LastSize(args.in[0]);
  for (int64_t row = 0; row < args.in[1].count(); ++row) {
    const double lse1 = Load(args.in[1], row);
    const double lse2 = Load(args.in[3], row);
    double lse = kNothing;
    if (lse1 != kNothing || lse2 != kNothing) {
      const double high = std::max(lse1, lse2);
      lse = high + std::log(std::exp(lse1 - high) + std::exp(lse2 - high));
    }
    for (int64_t d = row * size; d < (row + 1) * size; ++d) {
      double o = 0;
      if (lse1 != kNothing) o += Load(args.in[0], d) * std::exp(lse1 - lse);
      if (lse2 != kNothing) o += Load(args.in[2], d) * std::exp(lse2 - lse);
      Store(args.out[0], d, o);
    }
    Store(args.out[1], row, lse);
  }
}

}  // namespace trireme
