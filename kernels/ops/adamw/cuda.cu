// The whole update in one pass over memory: 28 bytes an element. Step-wide numbers are read from
// the control block on the device, so that the host need not wait for them.
#include <cmath>

#include "kernels/device/cuda/elementwise.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

struct Attributes {
  double beta1, beta2, epsilon, weight_decay;
};

// From p, g, m, v to p, m, v.
struct Update {
  bool apply;
  float beta1, beta2, one_minus_beta1, one_minus_beta2;
  float grad_scale, epsilon;
  float inv_correction1, inv_sqrt_correction2;
  float learning_rate, keep;  // keep = 1 - learning_rate * weight_decay

  __device__ __forceinline__ void operator()(const float* x, float* y) const {
    if (!apply) {
      y[0] = x[0];
      y[1] = x[2];
      y[2] = x[3];
      return;
    }
    const float grad = x[1] * grad_scale;
    y[1] = beta1 * x[2] + one_minus_beta1 * grad;
    y[2] = beta2 * x[3] + one_minus_beta2 * (grad * grad);
    const float step = y[1] * inv_correction1 / (sqrtf(y[2]) * inv_sqrt_correction2 + epsilon);
    y[0] = keep * x[0] - learning_rate * step;
  }
};

__device__ Update MakeUpdate(const double* control, const Attributes& a) {
  const double learning_rate = control[kControlLearningRate];
  return {control[kControlApply] != 0,
          static_cast<float>(a.beta1),
          static_cast<float>(a.beta2),
          static_cast<float>(1 - a.beta1),
          static_cast<float>(1 - a.beta2),
          static_cast<float>(control[kControlGradScale]),
          static_cast<float>(a.epsilon),
          static_cast<float>(1 / control[kControlBiasCorrection1]),
          static_cast<float>(1 / sqrt(control[kControlBiasCorrection2])),
          static_cast<float>(learning_rate),
          static_cast<float>(1 - learning_rate * a.weight_decay)};
}

__global__ void __launch_bounds__(kElementwiseThreads)
    Adamw(const double* control, Attributes attributes, Arrays<4, 3> arrays) {
  __shared__ Update update;
  if (threadIdx.x == 0) update = MakeUpdate(control, attributes);
  __syncthreads();
  ForEachElement(arrays, Update(update));
}

}  // namespace

void Cuda_adamw(const KernelArgs& args) {
  const Attrs& attrs = args.attrs;
  const Attributes attributes{attrs.GetDouble("beta1"), attrs.GetDouble("beta2"),
                              attrs.GetDouble("epsilon"), attrs.GetDouble("weight_decay")};
  const auto arrays =
      MakeArrays({args.in[0].f32(), args.in[1].f32(), args.in[2].f32(), args.in[3].f32()},
                 {args.out[0].f32(), args.out[1].f32(), args.out[2].f32()}, args.in[0].count());
  if (arrays.count == 0) return;
  TRIREME_LAUNCH(args, BlocksFor(arrays.units(), kElementwiseThreads), kElementwiseThreads, 0,
                 Adamw, args.in[4].f64(), attributes, arrays);
}

}  // namespace trireme
