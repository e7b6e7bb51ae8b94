// Reference of mul: a * b, b repeated over the dims it lacks: the first, or the last when leading.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_mul(const KernelArgs& args) {
  const int64_t count = args.out[0].count();
  const int64_t period = args.in[1].count();
  const bool leading = args.attrs.GetInt("leading", 0) != 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t j = leading ? i / (count / period) : i % period;
    Store(args.out[0], i, Load(args.in[0], i) * Load(args.in[1], j));
  }
}

}  // namespace trireme
