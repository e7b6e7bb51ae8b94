// An optimizer: the op that applies its formula to (param, gradient, states, control), and its
// attributes.
#ifndef TRIREME_COORDINATOR_COMPILER_OPTIMIZERS_FORMULA_H_
#define TRIREME_COORDINATOR_COMPILER_OPTIMIZERS_FORMULA_H_

#include <string>
#include <vector>

#include "common/config/job_spec.h"
#include "common/ir/attrs.h"

namespace trireme {

struct OptimizerFormula {
  std::string op;  // inputs: param, grad, states..., control; outputs: param, states...
  std::vector<std::string> states;  // float32, shaped like the parameter
  Attrs (*attrs)(const OptimizerSpec& spec, bool decay) = nullptr;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_OPTIMIZERS_FORMULA_H_
