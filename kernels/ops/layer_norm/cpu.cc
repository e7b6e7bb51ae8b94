// One row at a time: it stays in the first-level cache through mean, variance and scaling.
#include <cmath>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_layer_norm(const KernelArgs& args);

namespace {

TRIREME_SIMD void NormRow(const float* x, const float* w, const float* b, float* y, float* mean_out,
                          float* inv_std_out, int64_t n, float eps) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(n);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float inv_std = 1.0f / std::sqrt(squares / static_cast<float>(n) + eps);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inv_std * w[i] + b[i];
  *mean_out = mean;
  *inv_std_out = inv_std;
}

}  // namespace

void Cpu_layer_norm(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2})) return Reference_layer_norm(args);
  const RowShape shape = RowsOf(args.in[0]);
  const int64_t n = shape.columns;
  const float* x = args.in[0].f32();
  const float* w = args.in[1].f32();
  const float* b = args.in[2].f32();
  float* y = args.out[0].f32();
  float* mean = args.out[1].f32();
  float* inv_std = args.out[2].f32();
  const float eps = static_cast<float>(args.attrs.GetDouble("eps"));
  ParallelRows(args.stream, shape.rows, n, [&](int64_t row) {
    RunSimd<NormRow>(x + row * n, w, b, y + row * n, mean + row, inv_std + row, n, eps);
  });
}

}  // namespace trireme
