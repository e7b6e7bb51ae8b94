// Job + topology -> Plan. Pure: the same inputs give the same plan, on the coordinator and in
// `trireme plan`.
#ifndef TRIREME_COORDINATOR_PLANNER_PLANNER_H_
#define TRIREME_COORDINATOR_PLANNER_PLANNER_H_

#include <cstdint>
#include <optional>

#include "common/config/fleet.h"
#include "common/config/job_spec.h"
#include "common/plan/plan.h"

namespace trireme {

// Plans a training job on all devices of `topology`.
// Errors: kInvalidArgument when the job cannot be sharded that way (names tensor, dims, sizes and
// what would work); kResourceExhausted when a rank needs more memory than its device has.
StatusOr<Plan> PlanJob(const JobSpec& job, const Topology& topology);

// A forward-only plan for one rank that ends in logits (StageProgram::outputs), batch 1,
// `sequence_length` positions.
StatusOr<Plan> PlanGenerate(const JobSpec& job, int64_t sequence_length);

// Devices the mesh asks for when no axis absorbs what is left (-1), on one slice; nullopt
// otherwise.
std::optional<int64_t> FixedDeviceCount(const MeshSpec& mesh);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_PLANNER_H_
