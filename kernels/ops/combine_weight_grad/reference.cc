// dweight = dy[token] . row, 0 for assignments that are not in this wave.
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_combine_weight_grad(const KernelArgs& args) {
  const Tensor& dy = args.in[0];
  const Tensor& rows = args.in[1];
  const int64_t k = LastSize(args.in[3]);
  const int64_t embed = LastSize(rows);
  const WaveSource source = SourceOfWave(args.in[2], args.attrs.GetInt("wave"));
  std::vector<double> dweights(args.out[0].count());
  for (int64_t slot = 0; slot < source.slots; ++slot) {
    const int64_t i = source.assignments[slot];
    if (i < 0) continue;
    for (int64_t e = 0; e < embed; ++e) {
      dweights[i] += Load(dy, i / k * embed + e) * Load(rows, slot * embed + e);
    }
  }
  StoreAll(args.out[0], dweights, args.accumulate);
}

}  // namespace trireme
