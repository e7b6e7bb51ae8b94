// Reference of swiglu: y = silu(gate) * up.
#include "kernels/ops/kernel.h"
#include "kernels/ops/map/activation.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_swiglu(const KernelArgs& args) {
  for (int64_t i = 0; i < args.out[0].count(); ++i) {
    Store(args.out[0], i, Silu(Load(args.in[0], i)) * Load(args.in[1], i));
  }
}

}  // namespace trireme
