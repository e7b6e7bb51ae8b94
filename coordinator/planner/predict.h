// What a step should take, from the very instructions and schedules that run: phases are walked
// with the costs of the device kind and its links, and the schedules with the times of the phases.
#ifndef TRIREME_COORDINATOR_PLANNER_PREDICT_H_
#define TRIREME_COORDINATOR_PLANNER_PREDICT_H_

#include "common/config/fleet.h"
#include "common/config/job_spec.h"
#include "common/plan/plan.h"
#include "coordinator/compiler/orders/timeline.h"

namespace trireme {

// Fills plan->prediction and hidden_s and exposed_s of plan->collectives. One rank of a stage
// stands for all of them: the one with coordinate 0 along every other axis. Needs mesh, programs,
// schedules and the summed-up collectives. Costs a walk over the program of each phase of each
// chunk, whatever the number of ranks and microbatches.
void Predict(const Topology& topology, const NetworkSpec& network, Plan* plan);

// Predicted seconds as costs of schedules. The result borrows nothing.
ScheduleCosts PredictedCosts(const Prediction& prediction);

// Tokens a second of the whole job; 0 when nothing is predicted.
double PredictedTokensPerSecond(const Plan& plan);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_PREDICT_H_
