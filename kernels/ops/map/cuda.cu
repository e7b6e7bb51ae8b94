// map at memory speed: 8 bytes and one exponential an element.
#include "kernels/device/cuda/elementwise.h"
#include "kernels/ops/map/cuda_activation.h"

namespace trireme {
namespace {

template <Activation kKind>
struct Of {
  __device__ __forceinline__ void operator()(const float* x, float* y) const {
    y[0] = CudaActivate<kKind>(x[0]);
  }
};

}  // namespace

void Cuda_map(const KernelArgs& args) {
  const float* x = args.in[0].f32();
  float* y = args.out[0].f32();
  const int64_t count = args.in[0].count();
  switch (ParseActivation(args.attrs.GetString("kind")).value()) {
    case Activation::kGeluTanh:
      return Elementwise(args, Of<Activation::kGeluTanh>{}, {x}, {y}, count);
    case Activation::kSilu:
      return Elementwise(args, Of<Activation::kSilu>{}, {x}, {y}, count);
    case Activation::kRelu:
      return Elementwise(args, Of<Activation::kRelu>{}, {x}, {y}, count);
    case Activation::kSigmoid:
      return Elementwise(args, Of<Activation::kSigmoid>{}, {x}, {y}, count);
  }
}

}  // namespace trireme
