// Which slot holds each assignment, then one block a token. Bounded by the bytes of the rows, read
// once, and of the tokens, written.
#include "kernels/ops/dispatch/cuda_slots.h"

namespace trireme {

void Cuda_combine(const KernelArgs& args) {
  LaunchSumChoices<true>(args, args.in[2], args.in[2].f32());
}

}  // namespace trireme
