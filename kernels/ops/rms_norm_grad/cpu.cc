// dx row by row; dw by partial sums over chunks of rows.
#include "kernels/device/cpu_util.h"
#include "kernels/device/row_chunks.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_rms_norm_grad(const KernelArgs& args);

namespace {

TRIREME_SIMD void GradRow(const float* dy, const float* x, const float* w, float inv, float* dx,
                          float* dw, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += dy[i] * w[i] * x[i];
  const float factor = sum / static_cast<float>(n) * inv * inv;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float d = dy[i];
    const float value = x[i];
    dw[i] += d * value * inv;
    dx[i] = inv * (d * w[i] - value * factor);
  }
}

// Without w: dx alone.
TRIREME_SIMD void PlainGradRow(const float* dy, const float* x, float inv, float* dx, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += dy[i] * x[i];
  const float factor = sum / static_cast<float>(n) * inv * inv;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i] = inv * (dy[i] - x[i] * factor);
}

void PlainGrad(const KernelArgs& args) {
  const RowShape shape = RowsOf(args.in[0]);
  const int64_t n = shape.columns;
  ParallelRows(args.stream, shape.rows, n, [&](int64_t row) {
    RunSimd<PlainGradRow>(args.in[0].f32() + row * n, args.in[1].f32() + row * n,
                          args.in[2].f32()[row], args.out[0].f32() + row * n, n);
  });
}

}  // namespace

void Cpu_rms_norm_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2})) return Reference_rms_norm_grad(args);
  if (args.in.size() == 3) return PlainGrad(args);
  const RowShape shape = RowsOf(args.in[0]);
  const int64_t n = shape.columns;
  const float* dy = args.in[0].f32();
  const float* x = args.in[1].f32();
  const float* w = args.in[2].f32();
  const float* inv_rms = args.in[3].f32();
  float* dx = args.out[0].f32();
  SumRowChunks(args.stream, shape.rows, n, n, args.out[1].f32(), args.accumulate,
               [&](int64_t begin, int64_t end, float* dw) {
                 for (int64_t row = begin; row < end; ++row) {
                   RunSimd<GradRow>(dy + row * n, x + row * n, w, inv_rms[row], dx + row * n, dw,
                                    n);
                 }
               });
}

}  // namespace trireme
