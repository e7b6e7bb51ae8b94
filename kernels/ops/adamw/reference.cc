// g' = g * grad_scale; m = beta1 m + (1 - beta1) g'; v = beta2 v + (1 - beta2) g'^2;
// p -= lr * ((m / bias1) / (sqrt(v / bias2) + epsilon) + weight_decay * p). Nothing changes unless
// control says apply.
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {

void Reference_adamw(const KernelArgs& args) {
  const double* control = args.in[4].f64();
  const bool apply = control[kControlApply] != 0;
  const double beta1 = args.attrs.GetDouble("beta1");
  const double beta2 = args.attrs.GetDouble("beta2");
  const double epsilon = args.attrs.GetDouble("epsilon");
  const double weight_decay = args.attrs.GetDouble("weight_decay");
  for (int64_t i = 0; i < args.in[0].count(); ++i) {
    double p = Load(args.in[0], i);
    double m = Load(args.in[2], i);
    double v = Load(args.in[3], i);
    if (apply) {
      const double g = Load(args.in[1], i) * control[kControlGradScale];
      m = beta1 * m + (1 - beta1) * g;
      v = beta2 * v + (1 - beta2) * g * g;
      const double m_hat = m / control[kControlBiasCorrection1];
      const double v_hat = v / control[kControlBiasCorrection2];
      p -=
          control[kControlLearningRate] * (m_hat / (std::sqrt(v_hat) + epsilon) + weight_decay * p);
    }
    Store(args.out[0], i, p);
    Store(args.out[1], i, m);
    Store(args.out[2], i, v);
  }
}

}  // namespace trireme
