// When the messages of a pipeline are sent: a run of all stages in units of time that finds for
// every message a moment between two actions on both of its stages.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_MEETINGS_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_MEETINGS_H_

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "coordinator/compiler/orders/layout.h"
#include "coordinator/compiler/orders/order.h"

namespace trireme {

// A message over an edge. Gap g of a stage is before its action g and after action g - 1.
struct Meeting {
  int64_t time = 0;
  bool gradient = false;
  int32_t edge = 0;
  int32_t microbatch = 0;
  StageChunk from, to;
  int32_t from_gap = 0;
  int32_t to_gap = 0;
};

// All messages, in one order that every stage keeps: by time, then gradients first, so that a slot
// that a gradient leaves may be filled at the same moment. Errors: as AddExchanges.
StatusOr<std::vector<Meeting>> FindMeetings(const std::vector<std::vector<Action>>& actions,
                                            const ScheduleLayout& layout);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_MEETINGS_H_
