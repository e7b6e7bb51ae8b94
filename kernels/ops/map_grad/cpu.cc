// map_grad in single precision with the vectorised exponential.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/map/cpu_activation.h"

namespace trireme {

void Reference_map_grad(const KernelArgs& args);

namespace {

template <Activation kKind>
TRIREME_SIMD void GradRange(const float* dy, const float* x, float* dx, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * FastActivateGrad<kKind>(x[i]);
}

}  // namespace

void Cpu_map_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_map_grad(args);
  const Activation kind = *ParseActivation(args.attrs.GetString("kind"));
  const float* dy = args.in[0].f32();
  const float* x = args.in[1].f32();
  float* dx = args.out[0].f32();
  ParallelFor(args.stream, args.in[0].count(), kGrainElements, [&](int64_t i, int64_t end) {
    const int64_t n = end - i;
    switch (kind) {
      case Activation::kGeluTanh:
        return RunSimd<GradRange<Activation::kGeluTanh>>(dy + i, x + i, dx + i, n);
      case Activation::kSilu:
        return RunSimd<GradRange<Activation::kSilu>>(dy + i, x + i, dx + i, n);
      case Activation::kRelu:
        return RunSimd<GradRange<Activation::kRelu>>(dy + i, x + i, dx + i, n);
      case Activation::kSigmoid:
        return RunSimd<GradRange<Activation::kSigmoid>>(dy + i, x + i, dx + i, n);
    }
  });
}

}  // namespace trireme
