// out[kept] = sum over the leading dims of x, or over the last ones when `leading` are kept.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_reduce_sum(const KernelArgs& args) {
  const int64_t period = args.out[0].count();
  const int64_t count = args.in[0].count();
  const bool leading = args.attrs.GetInt("leading", 0) != 0;
  std::vector<double> sums(period);
  for (int64_t i = 0; i < count; ++i) {
    sums[leading ? i / (count / period) : i % period] += Load(args.in[0], i);
  }
  StoreAll(args.out[0], sums, args.accumulate);
}

}  // namespace trireme
