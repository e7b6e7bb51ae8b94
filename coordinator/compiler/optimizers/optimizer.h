// What happens to one tensor at the end of a step, as a small graph: INIT makes the initial value,
// U1 finishes the gradient and adds its square to the norm, U2 applies the optimizer's formula.
#ifndef TRIREME_COORDINATOR_COMPILER_OPTIMIZERS_OPTIMIZER_H_
#define TRIREME_COORDINATOR_COMPILER_OPTIMIZERS_OPTIMIZER_H_

#include <string>
#include <vector>

#include "common/config/job_spec.h"
#include "coordinator/compiler/partition/partition.h"

namespace trireme {

struct UpdateInput {
  LogicalTensor tensor;  // dims padded
  TensorShardings shardings;
  std::vector<int64_t> owner_members;  // stages that share the tensor, when more than one
  int stage_axis = -1;
  int64_t seed = 0;
  bool flat_dcn = false;  // see PlanReshard
};

// Names of the optimizer's states, for checkpoints. Errors: kInvalidArgument listing the known
// optimizers.
StatusOr<std::vector<std::string>> StateNames(const OptimizerSpec& spec);

// INIT, U1 and U2 nodes of one tensor. Values: param, grad, reduced gradient, states, scalars. When
// the reduced gradient is the accumulator itself no kReducedGrad value exists.
StatusOr<Graph> BuildUpdate(const UpdateInput& input, const OptimizerSpec& spec, const Mesh& mesh);

// The scalars of a step: one all-reduce over every rank, of `router_stats` sums too, then
// step_control. Phase U2, before the tensors.
Graph BuildStepControl(const Mesh& mesh, const OptimizerSpec& spec, double expected_tokens,
                       int64_t lr_table_entries, int64_t router_stats = 0);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_OPTIMIZERS_OPTIMIZER_H_
