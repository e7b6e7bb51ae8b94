// What a finished plan says in numbers: parameters, memory by stage, collectives by kind.
#ifndef TRIREME_COORDINATOR_PLANNER_SUMMARY_H_
#define TRIREME_COORDINATOR_PLANNER_SUMMARY_H_

#include <cstdint>

#include "common/plan/plan.h"

namespace trireme {

// CollectivePlan::tensor of messages between stages.
inline constexpr char kSentActivation[] = "residual stream";
inline constexpr char kSentGradient[] = "gradient of the residual stream";

// Fills parameters, memory and collectives from the programs and schedules.
void Summarize(int64_t reserve_bytes, Plan* plan);

// Whether the ranks along `axis` repeat the same work: it is larger than 1, but no batch, layer,
// tensor or activation is split over it. `plan` is summarized.
bool IsIdleAxis(const Plan& plan, int axis);

// Bytes one rank sends in one call of collective `instruction` (semantics of ReshardStep::bytes).
int64_t CollectiveBytes(const Mesh& mesh, const Group& group, const Instruction& instruction);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_SUMMARY_H_
