// out = x on the owner, 0 elsewhere, element by element.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_contribute(const KernelArgs& args) {
  const bool contributes = args.attrs.GetInt("owner", 0) == 0;
  for (int64_t i = 0; i < args.in[0].count(); ++i) {
    Store(args.out[0], i, contributes ? Load(args.in[0], i) : 0.0, args.accumulate);
  }
}

}  // namespace trireme
