// Reference of embed_lookup: y[i] = table[ids[i] - vocab_start], 0 when the row is elsewhere.
// Shapes: V local rows, E embed, N ids.

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_embed_lookup(const KernelArgs& args) {
  const Tensor& table_VE = args.in[0];
  const Tensor& ids_N = args.in[1];
  const int64_t start = args.attrs.GetInt("vocab_start", 0);
  const int64_t width = table_VE.size(1);
  for (int64_t n = 0; n < ids_N.count(); ++n) {
    const int64_t row = ids_N.i32()[n] - start;
    const bool here = row >= 0 && row < table_VE.size(0);
    for (int64_t e = 0; e < width; ++e) {
      Store(args.out[0], n * width + e, here ? Load(table_VE, row * width + e) : 0.0);
    }
  }
}

}  // namespace trireme
