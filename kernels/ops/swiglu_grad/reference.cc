// Reference of swiglu_grad: dgate = dy * up * silu'(gate), dup = dy * silu(gate).
#include "kernels/ops/kernel.h"
#include "kernels/ops/map/activation.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_swiglu_grad(const KernelArgs& args) {
  for (int64_t i = 0; i < args.out[0].count(); ++i) {
    const double dy = Load(args.in[0], i);
    const double gate = Load(args.in[1], i);
    Store(args.out[0], i, dy * Load(args.in[2], i) * SiluGrad(gate));
    Store(args.out[1], i, dy * Silu(gate));
  }
}

}  // namespace trireme
