// Reference of accumulate: out += x, or out = x, element by element of two views.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_accumulate(const KernelArgs& args) {
  for (int64_t i = 0; i < args.out[0].count(); ++i) {
    Store(args.out[0], StridedOffset(args.out[0], i),
          Load(args.in[0], StridedOffset(args.in[0], i)), args.accumulate);
  }
}

}  // namespace trireme
