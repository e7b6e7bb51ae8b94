// out = x on the owner, 0 elsewhere.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_contribute(const KernelArgs& args) {
  const bool contributes = args.attrs.GetInt("owner", 0) == 0;
  Store(args.out[0], 0, contributes ? Load(args.in[0], 0) : 0.0, args.accumulate);
}

}  // namespace trireme
