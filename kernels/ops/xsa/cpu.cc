// One head of one position at a time, twice over: products, then the difference.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/xsa/operands.h"

namespace trireme {

void Reference_xsa(const KernelArgs& args);

namespace {

TRIREME_SIMD void XsaHead(const float* y, const float* v, float* out, int64_t n) {
  float yv = 0, vv = 0;
#pragma omp simd reduction(+ : yv, vv)
  for (int64_t d = 0; d < n; ++d) {
    yv += y[d] * v[d];
    vv += v[d] * v[d];
  }
  const float s = yv / (vv + static_cast<float>(kXsaEps));
#pragma omp simd
  for (int64_t d = 0; d < n; ++d) out[d] = y[d] - s * v[d];
}

}  // namespace

void Cpu_xsa(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_xsa(args);
  const XsaSizes sizes = MakeXsaSizes(args, /*y=*/0);
  ParallelRows(args.stream, sizes.rows, sizes.heads * sizes.head_dim, [&](int64_t row) {
    for (int64_t head = 0; head < sizes.heads; ++head) {
      const int64_t y = sizes.YOffset(row, head);
      RunSimd<XsaHead>(args.in[0].f32() + y, args.in[1].f32() + sizes.VOffset(row, head),
                       args.out[0].f32() + y, sizes.head_dim);
    }
  });
}

}  // namespace trireme
