// dw[expert] = sum over the expert's rows of row^T dout.
#include "kernels/ops/dispatch_plan/pools.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_grouped_dot_grad(const KernelArgs& args) {
  const Tensor& rows = args.in[0];
  const Tensor& dout = args.in[1];
  const int64_t in_size = LastSize(rows);
  const int64_t out_size = LastSize(dout);
  const PoolShape pool = MakePoolShape(rows.size(0), rows.size(1), args.in[2]);
  const RowGroups groups = ListRowGroups(pool, args.in[2], args.attrs.GetInt("wave"));
  std::vector<double> dw(args.out[0].count());
  for (const RowGroup& group : groups.filled) {
    for (int64_t slot = group.start; slot < group.start + group.rows; ++slot) {
      for (int64_t i = 0; i < in_size; ++i) {
        for (int64_t o = 0; o < out_size; ++o) {
          dw[(group.expert * in_size + i) * out_size + o] +=
              Load(rows, slot * in_size + i) * Load(dout, slot * out_size + o);
        }
      }
    }
  }
  StoreAll(args.out[0], dw, args.accumulate);
}

}  // namespace trireme
