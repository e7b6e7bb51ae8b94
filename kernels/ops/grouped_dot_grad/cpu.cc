// One product a group; the parts of an expert's rows are added up.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/gemm.h"
#include "kernels/ops/dispatch_plan/pools.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_grouped_dot_grad(const KernelArgs& args);

void Cpu_grouped_dot_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_grouped_dot_grad(args);
  const Tensor& rows = args.in[0];
  const int64_t in_size = rows.sizes.back();
  const int64_t out_size = args.in[1].sizes.back();
  float* dw = args.out[0].f32();
  const PoolShape pool = MakePoolShape(rows.size(0), rows.size(1), args.in[2]);
  const RowGroups groups = ListRowGroups(pool, args.in[2], args.attrs.GetInt("wave"));
  if (!args.accumulate) std::fill_n(dw, args.out[0].count(), 0.0f);
  for (const RowGroup& group : groups.filled) {
    Gemm(args.stream.num_threads, {.m = in_size, .n = out_size, .k = group.rows},
         {rows.f32() + group.start * in_size, in_size, true},
         {args.in[1].f32() + group.start * out_size, out_size, false},
         dw + group.expert * in_size * out_size, out_size, true);
  }
}

}  // namespace trireme
