// drow[slot] = weight * dy[token], 0 in empty slots.
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_combine_grad(const KernelArgs& args) {
  const Tensor& dy = args.in[0];
  const Tensor& weights = args.in[2];
  const int64_t k = LastSize(weights);
  const int64_t embed = LastSize(dy);
  const WaveSource source = SourceOfWave(args.in[1], args.attrs.GetInt("wave"));
  for (int64_t slot = 0; slot < source.slots; ++slot) {
    const int64_t i = source.assignments[slot];
    for (int64_t e = 0; e < embed; ++e) {
      Store(args.out[0], slot * embed + e,
            i < 0 ? 0.0 : Load(weights, i) * Load(dy, i / k * embed + e));
    }
  }
}

}  // namespace trireme
