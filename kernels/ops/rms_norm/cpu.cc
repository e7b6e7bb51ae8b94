// One row at a time: it stays in the first-level cache between the sum of squares and the scaling.
#include <cmath>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_rms_norm(const KernelArgs& args);

namespace {

template <bool kWeighted>
TRIREME_SIMD void NormRow(const float* x, const float* w, float* y, float* inv_rms, int64_t n,
                          float eps) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
  const float inv = 1.0f / std::sqrt(squares / static_cast<float>(n) + eps);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = kWeighted ? x[i] * inv * w[i] : x[i] * inv;
  *inv_rms = inv;
}

}  // namespace

void Cpu_rms_norm(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_rms_norm(args);
  const RowShape shape = RowsOf(args.in[0]);
  const int64_t n = shape.columns;
  const float* x = args.in[0].f32();
  const float* w = args.in.size() == 2 ? args.in[1].f32() : nullptr;
  float* y = args.out[0].f32();
  float* inv_rms = args.out[1].f32();
  const float eps = static_cast<float>(args.attrs.GetDouble("eps"));
  ParallelRows(args.stream, shape.rows, n, [&](int64_t row) {
    if (w == nullptr) {
      return RunSimd<NormRow<false>>(x + row * n, w, y + row * n, inv_rms + row, n, eps);
    }
    RunSimd<NormRow<true>>(x + row * n, w, y + row * n, inv_rms + row, n, eps);
  });
}

}  // namespace trireme
