// One position at a time: dv of its kv heads is set to zero and added to head by head.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/xsa/operands.h"

namespace trireme {

void Reference_xsa_grad(const KernelArgs& args);

namespace {

TRIREME_SIMD void GradHead(const float* dy, const float* y, const float* v, float* dx, float* dv,
                           int64_t n) {
  float yv = 0, dyv = 0, vv = 0;
#pragma omp simd reduction(+ : yv, dyv, vv)
  for (int64_t d = 0; d < n; ++d) {
    yv += y[d] * v[d];
    dyv += dy[d] * v[d];
    vv += v[d] * v[d];
  }
  const float norm = vv + static_cast<float>(kXsaEps);
  const float s = yv / norm;
  const float r = dyv / norm;
#pragma omp simd
  for (int64_t d = 0; d < n; ++d) {
    const float g = dy[d];
    dv[d] -= s * g + r * (y[d] - 2 * s * v[d]);
    dx[d] = g - r * v[d];
  }
}

}  // namespace

void Cpu_xsa_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2})) return Reference_xsa_grad(args);
  const XsaSizes sizes = MakeXsaSizes(args, /*y=*/1);
  const int64_t v_row = sizes.kv_heads * sizes.head_dim;
  ParallelRows(args.stream, sizes.rows, sizes.heads * sizes.head_dim, [&](int64_t row) {
    std::fill_n(args.out[1].f32() + row * v_row, v_row, 0.0f);
    for (int64_t head = 0; head < sizes.heads; ++head) {
      const int64_t y = sizes.YOffset(row, head);
      const int64_t v = sizes.VOffset(row, head);
      RunSimd<GradHead>(args.in[0].f32() + y, args.in[1].f32() + y, args.in[2].f32() + v,
                        args.out[0].f32() + y, args.out[1].f32() + v, sizes.head_dim);
    }
  });
}

}  // namespace trireme
