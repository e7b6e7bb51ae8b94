// rows[slot] = x[token of the assignment in it], 0 in empty slots.
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_dispatch(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const int64_t embed = LastSize(x);
  const int64_t choices = args.attrs.GetInt("choices");
  const WaveSource source = SourceOfWave(args.in[1], args.attrs.GetInt("wave"));
  for (int64_t slot = 0; slot < source.slots; ++slot) {
    const int64_t assignment = source.assignments[slot];
    for (int64_t e = 0; e < embed; ++e) {
      Store(args.out[0], slot * embed + e,
            assignment < 0 ? 0.0 : Load(x, assignment / choices * embed + e));
    }
  }
}

}  // namespace trireme
