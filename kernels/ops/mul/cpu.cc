// a * b, vectorised; b is repeated over a's leading dims, or over the last ones.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_mul(const KernelArgs& args);

namespace {

TRIREME_SIMD void Range(const float* a, const float* b, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

// b is one number.
TRIREME_SIMD void RangeScalar(const float* a, const float* b, float* y, int64_t n) {
  const float number = *b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * number;
}

}  // namespace

void Cpu_mul(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_mul(args);
  const float* a = args.in[0].f32();
  const float* b = args.in[1].f32();
  float* y = args.out[0].f32();
  const int64_t count = args.out[0].count();
  const int64_t period = args.in[1].count();
  if (period == count || period == 1) {
    ParallelFor(args.stream, count, kGrainElements, [&](int64_t i, int64_t end) {
      if (period == count) return RunSimd<Range>(a + i, b + i, y + i, end - i);
      RunSimd<RangeScalar>(a + i, b, y + i, end - i);
    });
    return;
  }
  const int64_t rows = period == 0 ? 0 : count / period;
  if (args.attrs.GetInt("leading", 0) != 0) {  // `period` rows of `rows` elements
    ParallelRows(args.stream, period, rows, [&](int64_t row) {
      RunSimd<RangeScalar>(a + row * rows, b + row, y + row * rows, rows);
    });
    return;
  }
  ParallelRows(args.stream, rows, period,
               [&](int64_t row) { RunSimd<Range>(a + row * period, b, y + row * period, period); });
}

}  // namespace trireme
