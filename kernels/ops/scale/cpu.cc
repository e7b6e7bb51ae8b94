// x * factor, vectorised.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_scale(const KernelArgs& args);

namespace {

TRIREME_SIMD void ScaleRange(const float* x, float* y, int64_t n, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

}  // namespace

void Cpu_scale(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_scale(args);
  const float* x = args.in[0].f32();
  float* y = args.out[0].f32();
  const float factor = static_cast<float>(args.attrs.GetDouble("factor"));
  ParallelFor(args.stream, args.in[0].count(), kGrainElements,
              [&](int64_t i, int64_t end) { RunSimd<ScaleRange>(x + i, y + i, end - i, factor); });
}

}  // namespace trireme
