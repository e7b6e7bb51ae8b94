// dgate = dy up silu'(gate), dup = dy silu(gate), in one pass.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_swiglu_grad(const KernelArgs& args);

namespace {

TRIREME_SIMD void GradRange(const float* dy, const float* gate, const float* up, float* dgate,
                            float* dup, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float g = gate[i];
    const float d = dy[i];
    const float sigmoid = FastSigmoid(g);
    const float silu = g * sigmoid;
    const float du = d * up[i];
    dgate[i] = du * (sigmoid + silu * (1 - sigmoid));
    dup[i] = d * silu;
  }
}

}  // namespace

void Cpu_swiglu_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2})) return Reference_swiglu_grad(args);
  const float* dy = args.in[0].f32();
  const float* gate = args.in[1].f32();
  const float* up = args.in[2].f32();
  float* dgate = args.out[0].f32();
  float* dup = args.out[1].f32();
  ParallelFor(args.stream, args.in[0].count(), kGrainElements, [&](int64_t i, int64_t end) {
    RunSimd<GradRange>(dy + i, gate + i, up + i, dgate + i, dup + i, end - i);
  });
}

}  // namespace trireme
