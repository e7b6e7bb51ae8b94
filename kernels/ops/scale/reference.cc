// Reference of scale: x * factor.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_scale(const KernelArgs& args) {
  const double factor = args.attrs.GetDouble("factor");
  for (int64_t i = 0; i < args.out[0].count(); ++i) {
    Store(args.out[0], i, Load(args.in[0], i) * factor);
  }
}

}  // namespace trireme
