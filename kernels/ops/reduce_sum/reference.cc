// out[kept] = sum over the other dims of x.
#include "kernels/ops/kernel.h"
#include "kernels/ops/reduce_sum/kept.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_reduce_sum(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const std::vector<int> kept = KeptDims(args.attrs, x.rank());
  const std::vector<int64_t> x_strides = DenseStrides(x.sizes);
  const std::vector<int64_t> out_strides = DenseStrides(args.out[0].sizes);
  std::vector<double> sums(args.out[0].count());
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t out = 0;
    for (size_t j = 0; j < kept.size(); ++j) {
      out += i / x_strides[kept[j]] % x.size(kept[j]) * out_strides[j];
    }
    sums[out] += Load(x, i);
  }
  StoreAll(args.out[0], sums, args.accumulate);
}

}  // namespace trireme
