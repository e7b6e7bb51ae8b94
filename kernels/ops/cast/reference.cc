// Reference of cast: x in the type of the output.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_cast(const KernelArgs& args) {
  for (int64_t i = 0; i < args.out[0].count(); ++i) Store(args.out[0], i, Load(args.in[0], i));
}

}  // namespace trireme
