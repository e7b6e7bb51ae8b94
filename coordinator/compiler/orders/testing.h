// What the tests of orders share.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_TESTING_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_TESTING_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "coordinator/compiler/orders/order.h"
#include "coordinator/compiler/orders/timeline.h"

namespace trireme {

// A line a stage: StepSchedule::ToText.
inline std::string SchedulesText(std::string_view order, int32_t num_stages, int32_t microbatches,
                                 int32_t chunks = 0) {
  const auto schedules = BuildSchedules(order, num_stages, microbatches, chunks);
  if (!schedules.ok()) return schedules.status().ToString();
  std::string text;
  for (const StepSchedule& schedule : *schedules) text += schedule.ToText() + "\n";
  return text;
}

struct Simulated {
  std::vector<StepSchedule> schedules;
  Timeline timeline;
  int32_t slots(int32_t stage) const { return schedules[stage].num_slots; }
  // Time of a stage from the start of its first microbatch item to the end of its last.
  double Span(int32_t stage) const {
    double first = -1;
    double last = 0;
    for (size_t i = 0; i < schedules[stage].items.size(); ++i) {
      const ScheduleItem& item = schedules[stage].items[i];
      if (item.kind != ItemKind::kRun || item.microbatch < 0) continue;
      if (first < 0) first = timeline.items[stage][i].start;
      last = timeline.items[stage][i].end;
    }
    return last - first;
  }
};

// Schedules of an order and their times under EqualCosts.
inline Simulated Simulate(std::string_view order, int32_t num_stages, int32_t microbatches,
                          int32_t chunks = 0) {
  auto schedules = BuildSchedules(order, num_stages, microbatches, chunks);
  CHECK(schedules.ok()) << schedules.status().ToString();
  const bool split = FindOrder(order)->splits_weight_grad;
  return {*schedules, SimulateSchedules(*schedules, EqualCosts(split))};
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_TESTING_H_
