// AdamW: Adam with decoupled weight decay. Loshchilov & Hutter 2019, arXiv:1711.05101.
#include "coordinator/compiler/optimizers/formula.h"

namespace trireme {
namespace {

Attrs AdamwAttrs(const OptimizerSpec& spec, bool decay) {
  return {{"beta1", spec.beta1},
          {"beta2", spec.beta2},
          {"epsilon", spec.epsilon},
          {"weight_decay", decay ? spec.weight_decay : 0.0}};
}

}  // namespace

OptimizerFormula AdamwFormula() { return {"adamw", {"exp_avg", "exp_avg_sq"}, AdamwAttrs}; }

}  // namespace trireme
