// Reference of embed_grad: dtable[ids[i] - vocab_start] += dy[i], over the ids whose row is here.
// Shapes: V local rows, E embed, N ids.

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_embed_grad(const KernelArgs& args) {
  const Tensor& dy_NE = args.in[0];
  const Tensor& ids_N = args.in[1];
  const Tensor& dtable_VE = args.out[0];
  const int64_t start = args.attrs.GetInt("vocab_start", 0);
  const int64_t width = dtable_VE.size(1);
  std::vector<double> sums(dtable_VE.count(), 0.0);
  for (int64_t n = 0; n < ids_N.count(); ++n) {
    const int64_t row = ids_N.i32()[n] - start;
    if (row < 0 || row >= dtable_VE.size(0)) continue;
    for (int64_t e = 0; e < width; ++e) sums[row * width + e] += Load(dy_NE, n * width + e);
  }
  StoreAll(dtable_VE, sums, args.accumulate);
}

}  // namespace trireme
