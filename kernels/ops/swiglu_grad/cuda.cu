// dgate = dy up silu'(gate), dup = dy silu(gate), in one pass: 20 bytes an element.
#include "kernels/device/cuda/elementwise.h"
#include "kernels/ops/map/cuda_activation.h"

namespace trireme {
namespace {

// From dy, gate, up to dgate, dup.
struct SwigluGrad {
  __device__ __forceinline__ void operator()(const float* x, float* y) const {
    const float sigmoid = CudaSigmoid(x[1]);
    const float silu = x[1] * sigmoid;
    y[0] = x[0] * x[2] * (sigmoid + silu * (1 - sigmoid));
    y[1] = x[0] * silu;
  }
};

}  // namespace

void Cuda_swiglu_grad(const KernelArgs& args) {
  Elementwise(args, SwigluGrad{}, {args.in[0].f32(), args.in[1].f32(), args.in[2].f32()},
              {args.out[0].f32(), args.out[1].f32()}, args.in[0].count());
}

}  // namespace trireme
