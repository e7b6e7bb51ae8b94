// {sum of squares of the finite elements, count of the others}; zeros unless this rank is the
// owner.
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_sum_squares(const KernelArgs& args) {
  std::vector<double> stats(2);
  const bool contributes = args.attrs.GetInt("owner", 0) == 0;
  for (int64_t i = 0; contributes && i < args.in[0].count(); ++i) {
    const double x = Load(args.in[0], i);
    if (std::isfinite(x)) {
      stats[0] += x * x;
    } else {
      stats[1] += 1;
    }
  }
  StoreAll(args.out[0], stats, args.accumulate);
}

}  // namespace trireme
