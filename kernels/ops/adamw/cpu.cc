// The whole update in one pass over memory: four arrays read, three written.
#include <cmath>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {

void Reference_adamw(const KernelArgs& args);

namespace {

struct Coefficients {
  float beta1, beta2, one_minus_beta1, one_minus_beta2;
  float grad_scale, epsilon;
  float inv_correction1, inv_sqrt_correction2;
  float learning_rate, keep;  // keep = 1 - learning_rate * weight_decay
};

Coefficients MakeCoefficients(const KernelArgs& args) {
  const double* control = args.in[4].f64();
  const double beta1 = args.attrs.GetDouble("beta1");
  const double beta2 = args.attrs.GetDouble("beta2");
  const double learning_rate = control[kControlLearningRate];
  const auto f = [](double value) { return static_cast<float>(value); };
  return {.beta1 = f(beta1),
          .beta2 = f(beta2),
          .one_minus_beta1 = f(1 - beta1),
          .one_minus_beta2 = f(1 - beta2),
          .grad_scale = f(control[kControlGradScale]),
          .epsilon = f(args.attrs.GetDouble("epsilon")),
          .inv_correction1 = f(1 / control[kControlBiasCorrection1]),
          .inv_sqrt_correction2 = f(1 / std::sqrt(control[kControlBiasCorrection2])),
          .learning_rate = f(learning_rate),
          .keep = f(1 - learning_rate * args.attrs.GetDouble("weight_decay"))};
}

TRIREME_SIMD void UpdateRange(float* p, const float* g, float* m, float* v, int64_t n,
                              Coefficients c) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float grad = g[i] * c.grad_scale;
    const float first = c.beta1 * m[i] + c.one_minus_beta1 * grad;
    const float second = c.beta2 * v[i] + c.one_minus_beta2 * (grad * grad);
    const float step =
        first * c.inv_correction1 / (std::sqrt(second) * c.inv_sqrt_correction2 + c.epsilon);
    m[i] = first;
    v[i] = second;
    p[i] = c.keep * p[i] - c.learning_rate * step;
  }
}

}  // namespace

// p, m and v are updated in place: outputs 0, 1, 2 are the memory of inputs 0, 2, 3.
void Cpu_adamw(const KernelArgs& args) {
  const bool in_place = args.out[0].data == args.in[0].data &&
                        args.out[1].data == args.in[2].data && args.out[2].data == args.in[3].data;
  if (!in_place || !AreFloat32(args.in, {0, 1, 2, 3})) return Reference_adamw(args);
  if (args.in[4].f64()[kControlApply] == 0) return;
  const Coefficients coefficients = MakeCoefficients(args);
  float* p = args.out[0].f32();
  const float* g = args.in[1].f32();
  float* m = args.out[1].f32();
  float* v = args.out[2].f32();
  ParallelFor(args.stream, args.out[0].count(), kGrainElements, [&](int64_t i, int64_t end) {
    RunSimd<UpdateRange>(p + i, g + i, m + i, v + i, end - i, coefficients);
  });
}

}  // namespace trireme
