// What the routers of a mixture of experts did in a step: from sums over all ranks to numbers that
// mean something by themselves.
#ifndef TRIREME_WORKER_RANK_ROUTER_METRICS_H_
#define TRIREME_WORKER_RANK_ROUTER_METRICS_H_

#include "common/plan/program.h"
#include "trireme/v1/rank.pb.h"
#include "worker/executor/executor.h"

namespace trireme {

// Fills `router` and `routers` of `metrics` from `result`, whose sums `scalars` describes. Changes
// nothing for dense models.
void AddRouterMetrics(const ScalarPlacement& scalars, const StepResult& result,
                      v1::StepMetrics& metrics);

}  // namespace trireme

#endif  // TRIREME_WORKER_RANK_ROUTER_METRICS_H_
