// From a job and the devices it got to what its workers are told: plans, serializes every stage's
// program once and names it by content. Takes seconds for large jobs, so it runs outside every
// lock.
#ifndef TRIREME_COORDINATOR_SERVICE_PLANNING_H_
#define TRIREME_COORDINATOR_SERVICE_PLANNING_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/config/fleet.h"
#include "common/config/job_spec.h"
#include "coordinator/jobs/attempt.h"
#include "coordinator/queue/gang.h"
#include "coordinator/service/planner_interface.h"
#include "trireme/v1/plans.pb.h"

namespace trireme {

struct PlannedAttempt {
  AttemptPlan attempt;  // without token
  std::vector<v1::StageSchedule> stages;
  std::map<std::string, std::shared_ptr<const std::string>> programs;  // by SHA-256
};

// The gang as a topology; hosts are called like their workers.
// Errors: kInvalidArgument for an unknown kind of device.
StatusOr<Topology> TopologyOf(const Gang& gang);

// Errors: the planner's, and kResourceExhausted when a rank does not fit its device.
StatusOr<PlannedAttempt> PlanAttempt(const JobSpec& job, const Gang& gang,
                                     const PlannerInterface& planner);

// The texts that `request` asks for. Errors as above; what does not fit is reported in the JSON,
// not as an error.
StatusOr<v1::PlanJobResponse> PlanTexts(const JobSpec& job, const Topology& topology,
                                        const v1::PlanJobRequest& request,
                                        const PlannerInterface& planner);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_PLANNING_H_
