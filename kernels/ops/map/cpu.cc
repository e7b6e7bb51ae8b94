// map in single precision with the vectorised exponential.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/map/cpu_activation.h"

namespace trireme {

void Reference_map(const KernelArgs& args);

namespace {

template <Activation kKind>
TRIREME_SIMD void MapRange(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = FastActivate<kKind>(x[i]);
}

}  // namespace

void Cpu_map(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_map(args);
  const Activation kind = *ParseActivation(args.attrs.GetString("kind"));
  const float* x = args.in[0].f32();
  float* y = args.out[0].f32();
  ParallelFor(args.stream, args.in[0].count(), kGrainElements, [&](int64_t begin, int64_t end) {
    const int64_t n = end - begin;
    switch (kind) {
      case Activation::kGeluTanh:
        return RunSimd<MapRange<Activation::kGeluTanh>>(x + begin, y + begin, n);
      case Activation::kSilu:
        return RunSimd<MapRange<Activation::kSilu>>(x + begin, y + begin, n);
      case Activation::kRelu:
        return RunSimd<MapRange<Activation::kRelu>>(x + begin, y + begin, n);
      case Activation::kSigmoid:
        return RunSimd<MapRange<Activation::kSigmoid>>(x + begin, y + begin, n);
    }
  });
}

}  // namespace trireme
