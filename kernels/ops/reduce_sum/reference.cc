// out[kept] = sum over the leading dims of x.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_reduce_sum(const KernelArgs& args) {
  const int64_t period = args.out[0].count();
  std::vector<double> sums(period);
  for (int64_t i = 0; i < args.in[0].count(); ++i) sums[i % period] += Load(args.in[0], i);
  StoreAll(args.out[0], sums, args.accumulate);
}

}  // namespace trireme
