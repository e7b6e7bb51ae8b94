// Reference of add: a + b, b repeated over leading dims.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_add(const KernelArgs& args) {
  const int64_t period = args.in[1].count();
  for (int64_t i = 0; i < args.out[0].count(); ++i) {
    Store(args.out[0], i, Load(args.in[0], i) + Load(args.in[1], i % period));
  }
}

}  // namespace trireme
