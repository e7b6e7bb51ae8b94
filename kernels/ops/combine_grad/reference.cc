// drow[slot] = weight * dy[token], 0 in empty slots; dweight = dy[token] . row, 0 for dropped
// assignments.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_combine_grad(const KernelArgs& args) {
  const Tensor& dy = args.in[0];
  const Tensor& rows = args.in[1];
  const Tensor& weights = args.in[3];
  const int64_t k = LastSize(weights);
  const int64_t embed = LastSize(rows);
  std::vector<double> drows(rows.count());
  std::vector<double> dweights(weights.count());
  for (int64_t slot = 0; slot < args.in[2].count(); ++slot) {
    const int64_t i = static_cast<int64_t>(Load(args.in[2], slot));
    if (i < 0) continue;
    for (int64_t e = 0; e < embed; ++e) {
      const double grad = Load(dy, i / k * embed + e);
      drows[slot * embed + e] = Load(weights, i) * grad;
      dweights[i] += grad * Load(rows, slot * embed + e);
    }
  }
  StoreAll(args.out[0], drows);
  StoreAll(args.out[1], dweights);
}

}  // namespace trireme
