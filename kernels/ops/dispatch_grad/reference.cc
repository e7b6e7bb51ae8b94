// dx[token] = sum over its choices, in order, of the row that holds it.
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_dispatch_grad(const KernelArgs& args) {
  const Tensor& drows = args.in[0];
  const int64_t k = LastSize(args.in[2]);
  const int64_t embed = LastSize(drows);
  const std::vector<int32_t> slots =
      SlotOfAssignment(SourceOfWave(args.in[1], args.attrs.GetInt("wave")), args.in[2].count());
  std::vector<double> dx(args.out[0].count());
  for (int64_t i = 0; i < args.in[2].count(); ++i) {
    if (slots[i] < 0) continue;
    for (int64_t e = 0; e < embed; ++e) dx[i / k * embed + e] += Load(drows, slots[i] * embed + e);
  }
  StoreAll(args.out[0], dx, args.accumulate);
}

}  // namespace trireme
