// out += x, or out = x, at memory speed.
#include <cstring>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_accumulate(const KernelArgs& args);

namespace {

TRIREME_SIMD void AddRange(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

}  // namespace

void Cpu_accumulate(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0}) || !AreFloat32(args.out, {0})) return Reference_accumulate(args);
  const float* x = args.in[0].f32();
  float* y = args.out[0].f32();
  ParallelFor(args.stream, args.in[0].count(), kGrainElements, [&](int64_t i, int64_t end) {
    if (args.accumulate) return RunSimd<AddRange>(x + i, y + i, end - i);
    std::memmove(y + i, x + i, (end - i) * sizeof(float));
  });
}

}  // namespace trireme
