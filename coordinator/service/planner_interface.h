// What the service needs of the planner, so that tests can put another one in its place.
#ifndef TRIREME_COORDINATOR_SERVICE_PLANNER_INTERFACE_H_
#define TRIREME_COORDINATOR_SERVICE_PLANNER_INTERFACE_H_

#include "common/base/status.h"
#include "common/config/fleet.h"
#include "common/config/job_spec.h"
#include "common/plan/plan.h"

namespace trireme {

class PlannerInterface {
 public:
  virtual ~PlannerInterface() = default;
  // May take seconds; called from several threads. Errors as PlanJob's.
  virtual StatusOr<Plan> MakePlan(const JobSpec& job, const Topology& topology) const = 0;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_PLANNER_INTERFACE_H_
