// The step's decisions by one thread, in double as the reference: a launch's latency, which a step
// pays once. See reference.cc for the equations.
#include <cmath>

#include "kernels/device/cuda/cuda.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

struct Attributes {
  double max_grad_norm, beta1, beta2, expected_weight;
};

__global__ void StepControl(const double* in, const double* reduce, const float* lr_table,
                            int64_t table_size, double* control, Attributes a) {
  for (int k = 0; k < kControlSize; ++k) control[k] = in[k];
  const double weight = reduce[kReduceWeightSum];
  const double correction = weight > 0 ? a.expected_weight / weight : 1.0;
  const double grad_norm = sqrt(reduce[kReduceGradSumSquares]) * correction;
  const double ratio = a.max_grad_norm / grad_norm;
  const double clip = a.max_grad_norm > 0 && ratio < 1.0 ? ratio : 1.0;
  // grad_norm - grad_norm is 0 where it is finite.
  const bool apply = reduce[kReduceNonFinite] == 0 && grad_norm - grad_norm == 0 && weight > 0;
  const auto applied_step = static_cast<int64_t>(control[kControlAppliedStep]);
  const auto update = static_cast<double>(applied_step + 1);

  control[kControlLoss] = weight > 0 ? reduce[kReduceLossSum] / weight : 0.0;
  control[kControlGradNorm] = grad_norm;
  control[kControlLearningRate] =
      lr_table[applied_step < table_size ? applied_step : table_size - 1];
  control[kControlGradScale] = correction * clip;
  control[kControlBiasCorrection1] = 1 - pow(a.beta1, update);
  control[kControlBiasCorrection2] = 1 - pow(a.beta2, update);
  control[kControlApply] = apply ? 1.0 : 0.0;
  control[kControlWeight] = weight;
  if (apply) control[kControlAppliedStep] = update;
}

}  // namespace

void Cuda_step_control(const KernelArgs& args) {
  const Attrs& attrs = args.attrs;
  const Attributes attributes{attrs.GetDouble("max_grad_norm"), attrs.GetDouble("beta1"),
                              attrs.GetDouble("beta2"), attrs.GetDouble("expected_weight")};
  TRIREME_LAUNCH(args, 1, 1, 0, StepControl, args.in[0].f64(), args.in[1].f64(), args.in[2].f32(),
                 args.in[2].count(), args.out[0].f64(), attributes);
}

}  // namespace trireme
