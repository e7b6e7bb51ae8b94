// The step's decisions. Gradients were seeded with 1 / expected_weight, so they are off by
// correction = expected_weight / actual weight; clipping is by the corrected global norm.
#include <algorithm>
#include <cmath>

#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {

void Reference_step_control(const KernelArgs& args) {
  const Attrs& attrs = args.attrs;
  const double* reduce = args.in[1].f64();
  std::vector<double> control = LoadAll(args.in[0]);
  const double weight = reduce[kReduceWeightSum];
  const double correction = weight > 0 ? attrs.GetDouble("expected_weight") / weight : 1.0;
  const double grad_norm = std::sqrt(reduce[kReduceGradSumSquares]) * correction;
  const double max_grad_norm = attrs.GetDouble("max_grad_norm");
  const double clip = max_grad_norm > 0 ? std::min(1.0, max_grad_norm / grad_norm) : 1.0;
  const bool apply = reduce[kReduceNonFinite] == 0 && std::isfinite(grad_norm) && weight > 0;
  const int64_t applied_step = static_cast<int64_t>(control[kControlAppliedStep]);
  const double update = static_cast<double>(applied_step + 1);

  control[kControlLoss] = weight > 0 ? reduce[kReduceLossSum] / weight : 0.0;
  control[kControlGradNorm] = grad_norm;
  control[kControlLearningRate] = Load(args.in[2], std::min(applied_step, args.in[2].count() - 1));
  control[kControlGradScale] = correction * clip;
  control[kControlBiasCorrection1] = 1 - std::pow(attrs.GetDouble("beta1"), update);
  control[kControlBiasCorrection2] = 1 - std::pow(attrs.GetDouble("beta2"), update);
  control[kControlApply] = apply ? 1.0 : 0.0;
  control[kControlWeight] = weight;
  if (apply) control[kControlAppliedStep] = update;
  StoreAll(args.out[0], control);
}

}  // namespace trireme
