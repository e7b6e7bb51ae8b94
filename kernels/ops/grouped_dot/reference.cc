// out[slot] = rows[slot] times the matrix of the slot's expert, 0 in slots without a row.
#include "kernels/ops/dispatch_plan/pools.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {

void Reference_grouped_dot(const KernelArgs& args) {
  const Tensor& rows = args.in[0];
  const Tensor& w = args.in[1];
  const int64_t in_size = LastSize(rows);
  const int64_t out_size = LastSize(args.out[0]);
  const bool transposed = args.attrs.GetInt("transposed") != 0;
  const PoolShape pool = MakePoolShape(rows.size(0), rows.size(1), args.in[2]);
  const RowGroups groups = ListRowGroups(pool, args.in[2], args.attrs.GetInt("wave"));
  std::vector<double> out(args.out[0].count());
  for (const RowGroup& group : groups.filled) {
    for (int64_t slot = group.start; slot < group.start + group.rows; ++slot) {
      for (int64_t o = 0; o < out_size; ++o) {
        for (int64_t i = 0; i < in_size; ++i) {
          const int64_t element = transposed ? o * in_size + i : i * out_size + o;
          out[slot * out_size + o] +=
              Load(rows, slot * in_size + i) * Load(w, group.expert * in_size * out_size + element);
        }
      }
    }
  }
  StoreAll(args.out[0], out, args.accumulate);
}

}  // namespace trireme
