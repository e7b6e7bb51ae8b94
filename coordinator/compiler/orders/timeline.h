// Times of a set of schedules under given costs: all stages are walked at once, an exchange being
// over when both sides of all its messages have reached it.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_TIMELINE_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "common/plan/program.h"

namespace trireme {

// Durations, all of one unit (seconds in plans, 1 in tests).
struct ScheduleCosts {
  // Of a phase of a chunk; step phases (G, U1, U2) are of chunk 0.
  std::function<double(int32_t stage, Phase phase, int32_t chunk)> run;
  // Of one message between stages, or inside one where from_stage == to_stage.
  std::function<double(int32_t from_stage, int32_t to_stage, bool gradient)> transfer;
};

// F and W cost 1, B 1 where the weight gradient is split off and 2 where not; all else nothing.
ScheduleCosts EqualCosts(bool splits_weight_grad);

// Of one item; -1 is never. `met`: exchanges: when the last peer arrived, so that [start, met) is
// waiting and [met, end) is transfer.
struct ItemTimes {
  double start = -1;
  double met = -1;
  double end = -1;
};

struct Timeline {
  std::vector<std::vector<ItemTimes>> items;  // [stage][item]
  bool complete = true;                       // false: the stages wait for each other for ever
  double makespan = 0;                        // end of the last item
  std::vector<double> busy;                   // in items that run, by stage
  std::vector<int32_t> peak_slots;            // most slots in use at once, by stage
  double bubble = 0;                          // 1 - sum of busy / (stages * makespan)
};

// Messages that nobody answers leave their exchange without an end. Both directions of a pair of
// stages are separate links; messages of one link follow each other.
Timeline SimulateSchedules(const std::vector<StepSchedule>& schedules, const ScheduleCosts& costs);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_TIMELINE_H_
