// exp_diff: exp(a - b), 0 where a is -inf (also when b is); add_log: a + log(b).
#include <cmath>
#include <limits>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_map2(const KernelArgs& args) {
  const bool is_exp_diff = args.attrs.GetString("kind") == "exp_diff";
  for (int64_t i = 0; i < args.out[0].count(); ++i) {
    const double a = Load(args.in[0], i);
    const double b = Load(args.in[1], i);
    double y = a + std::log(b);
    if (is_exp_diff) y = a == -std::numeric_limits<double>::infinity() ? 0.0 : std::exp(a - b);
    Store(args.out[0], i, y);
  }
}

}  // namespace trireme
