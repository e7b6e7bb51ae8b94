// Whether the experts of a job are used well, judged by what its newest steps have told.
#ifndef TRIREME_COORDINATOR_SERVICE_ROUTER_WARNINGS_H_
#define TRIREME_COORDINATOR_SERVICE_ROUTER_WARNINGS_H_

#include <cstdint>
#include <vector>

#include "common/config/job_spec.h"
#include "trireme/v1/jobs.pb.h"

namespace trireme {

inline constexpr int64_t kWarningSteps = 20;
inline constexpr double kLargestDropped = 0.01;       // of a layer's assignments
inline constexpr double kLargestLoad = 2.0;           // of an expert, in times the mean
inline constexpr double kFewestTokensPerExpert = 20;  // below it, loads say nothing

// The worst of each kind over `steps`, which are the newest: DROPPED, OVERLOADED, STARVED. Empty
// when all is well, with fewer than kWarningSteps steps, and for models without routers.
std::vector<v1::RouterWarning> RouterWarnings(const std::vector<const v1::StepMetrics*>& steps,
                                              const JobSpec& spec);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_ROUTER_WARNINGS_H_
