// loss = sum_t weight_t * (lse_t - target_logit_t); tokens without weight do not count, whatever
// they hold.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_weighted_nll(const KernelArgs& args) {
  double loss = 0;
  for (int64_t token = 0; token < args.in[0].count(); ++token) {
    const double weight = Load(args.in[2], token);
    if (weight != 0) loss += weight * (Load(args.in[0], token) - Load(args.in[1], token));
  }
  Store(args.out[0], 0, loss);
}

}  // namespace trireme
