// y[token] = sum over its choices, in order, of weight * row.
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_combine(const KernelArgs& args) {
  const Tensor& rows = args.in[0];
  const Tensor& weights = args.in[2];
  const int64_t k = LastSize(weights);
  const int64_t embed = LastSize(rows);
  const std::vector<int32_t> slots =
      SlotOfAssignment(SourceOfWave(args.in[1], args.attrs.GetInt("wave")), weights.count());
  std::vector<double> y(args.out[0].count());
  for (int64_t i = 0; i < weights.count(); ++i) {
    if (slots[i] < 0) continue;
    for (int64_t e = 0; e < embed; ++e) {
      y[i / k * embed + e] += Load(weights, i) * Load(rows, slots[i] * embed + e);
    }
  }
  StoreAll(args.out[0], y, args.accumulate);
}

}  // namespace trireme
