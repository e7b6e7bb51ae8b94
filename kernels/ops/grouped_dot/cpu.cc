// One product a group.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/gemm.h"
#include "kernels/ops/dispatch_plan/pools.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_grouped_dot(const KernelArgs& args);

void Cpu_grouped_dot(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_grouped_dot(args);
  const Tensor& rows = args.in[0];
  const int64_t in_size = rows.sizes.back();
  const int64_t out_size = args.out[0].sizes.back();
  float* out = args.out[0].f32();
  const bool transposed = args.attrs.GetInt("transposed") != 0;
  const PoolShape pool = MakePoolShape(rows.size(0), rows.size(1), args.in[2]);
  const RowGroups groups = ListRowGroups(pool, args.in[2], args.attrs.GetInt("wave"));
  for (const RowGroup& group : groups.filled) {
    Gemm(args.stream.num_threads, {.m = group.rows, .n = out_size, .k = in_size},
         {rows.f32() + group.start * in_size, in_size, false},
         {args.in[1].f32() + group.expert * in_size * out_size, transposed ? in_size : out_size,
          transposed},
         out + group.start * out_size, out_size, args.accumulate);
  }
  if (args.accumulate) return;
  for (const RowGroup& group : groups.empty) {
    std::fill_n(out + group.start * out_size, group.rows * out_size, 0.0f);
  }
}

}  // namespace trireme
