// How long one phase of one rank takes, with what runs beside it: the instructions are walked with
// two clocks, one of computation and one of transfers.
#ifndef TRIREME_COORDINATOR_PLANNER_PHASE_TIME_H_
#define TRIREME_COORDINATOR_PLANNER_PHASE_TIME_H_

#include <functional>
#include <map>
#include <vector>

#include "common/config/fleet.h"
#include "common/plan/resolve.h"

namespace trireme {

// Of a collective: its seconds beside computation, and those in which the rank stands still for it.
struct CollectiveTime {
  double hidden_s = 0;
  double exposed_s = 0;
};

struct PhasePrediction {
  double total_s = 0;  // compute_s + what the collectives expose
  double compute_s = 0;
  // By instruction of the program (borrowed), over all its executions.
  std::map<const Instruction*, CollectiveTime> collectives;
};

// max(flops / device.flops, bytes of the views / device.bytes_per_s) + device.launch_s. Lookups in
// a table count the rows they touch, not the table.
double KernelSeconds(const ResolvedInstruction& instruction, const DeviceKind& device);

// Kernels take KernelSeconds, collectives `collective_s`. Those that are async follow each other on
// the transfer clock, and what needs their bytes (FindWaits) stands still until they are over;
// others stop both clocks. At the end of the phase all are over.
PhasePrediction PredictPhase(const StageProgram& program,
                             const std::vector<ResolvedInstruction>& instructions,
                             const DeviceKind& device,
                             const std::function<double(const Instruction&)>& collective_s);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_PHASE_TIME_H_
