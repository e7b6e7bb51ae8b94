// Reference of map_grad: dx = dy * f'(x).
#include "kernels/ops/kernel.h"
#include "kernels/ops/map/activation.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_map_grad(const KernelArgs& args) {
  const Activation kind = ParseActivation(args.attrs.GetString("kind")).value();
  for (int64_t i = 0; i < args.out[0].count(); ++i) {
    Store(args.out[0], i, Load(args.in[0], i) * ActivateGrad(kind, Load(args.in[1], i)));
  }
}

}  // namespace trireme
