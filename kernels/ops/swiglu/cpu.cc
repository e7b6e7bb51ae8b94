// silu(gate) * up, vectorised.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_swiglu(const KernelArgs& args);

namespace {

TRIREME_SIMD void SwigluRange(const float* gate, const float* up, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = gate[i] * FastSigmoid(gate[i]) * up[i];
}

}  // namespace

void Cpu_swiglu(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_swiglu(args);
  const float* gate = args.in[0].f32();
  const float* up = args.in[1].f32();
  float* y = args.out[0].f32();
  ParallelFor(args.stream, args.in[0].count(), kGrainElements, [&](int64_t i, int64_t end) {
    RunSimd<SwigluRange>(gate + i, up + i, y + i, end - i);
  });
}

}  // namespace trireme
