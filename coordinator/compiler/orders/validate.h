// Proof of a set of schedules: every chunk runs every microbatch once in the right order with its
// inputs there and a slot of its own, and all exchanges are completed.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_VALIDATE_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_VALIDATE_H_

#include <vector>

#include "common/base/status.h"
#include "common/plan/program.h"
#include "coordinator/compiler/orders/layout.h"

namespace trireme {

// Checks, on every stage: F, B (and W where split off) once for each chunk and microbatch, in this
// order; every input received before, every output sent once, in the item's own edge, to the stage
// that holds the other end; slots below num_slots, and not held by two at once; num_slots within
// slot_limit (0 = no limit). Then that all exchanges complete under rendezvous, and that messages
// of one stage to another are received in the order they are sent.
// Errors: kInternal with the stage, the item, the fault and the grid of all stages, the faulty cell
// in brackets.
Status ValidateSchedules(const std::vector<StepSchedule>& schedules, const ScheduleLayout& layout,
                         int32_t slot_limit = 0);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_VALIDATE_H_
