// Which slot holds each assignment, then one block a token. Bounded by the bytes of the rows, read
// once, and of the tokens, written.
#include "kernels/ops/dispatch/cuda_slots.h"

namespace trireme {

void Cuda_dispatch_grad(const KernelArgs& args) {
  LaunchSumChoices<false>(args, args.in[2], nullptr);
}

}  // namespace trireme
