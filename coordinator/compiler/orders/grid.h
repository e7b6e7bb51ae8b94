// Schedules as text: a line a stage, a column a unit of time.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_GRID_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_GRID_H_

#include <string>
#include <vector>

#include "common/plan/program.h"
#include "coordinator/compiler/orders/timeline.h"

namespace trireme {

struct GridOptions {
  int32_t width = 160;      // characters of a line
  int32_t mark_stage = -1;  // stage and index of an item to put in brackets; -1 = none
  int32_t mark_item = -1;
  std::string unit = "";  // of the timeline's times, for the legend: "s"
};

// Every item that takes time is written where it starts ("F0", "B0b" of the second chunk) and
// filled with "-" as long as it lasts; "." is a wait, "~" a transfer. A column is the shortest
// duration of an item, or up to the median where the grid fits then (short items keep a column);
// what does not fit is cut, and said so. The marked item is shown even where it takes no time or is
// never reached; a marked exchange is "[!]".
// Example (1f1b, 2 stages, 2 microbatches, equal costs):
//   stage 0 | F0 F1 .  .  B0--- .  B1---
//   stage 1 | .  F0 B0--- F1 B1--- .  .
std::string ScheduleGrid(const std::vector<StepSchedule>& schedules, const Timeline& timeline,
                         const GridOptions& options = {});

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_GRID_H_
