// What every order needs around its actions: transfers between stages, placed so that they cannot
// deadlock, and slots.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_EXCHANGE_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_EXCHANGE_H_

#include <vector>

#include "common/base/status.h"
#include "common/plan/program.h"
#include "coordinator/compiler/orders/layout.h"
#include "coordinator/compiler/orders/order.h"

namespace trireme {

// Schedules of all stages from their actions: G, actions with exchanges between them, U1, U2.
// All stages are run at once in units of time (F 1, B 2 or 1 when W is split off, W 1). A message
// is placed at a moment when both of its stages are between two actions: activations at the last
// such moment, since the sender keeps them anyway, gradients at the first, and before the sender's
// next action, since they hold a slot. What falls between the same two actions is one exchange. As
// every exchange holds what lies between two moments of one order of all messages, the earliest
// message not yet through can always go on: no deadlock. A slot is handed out when a chunk's
// microbatch receives its input (or starts), first free first, and is free again after its last
// action and once its gradient has left. Errors: kInternal if the actions wait for each other,
// naming where every stage stands.
StatusOr<std::vector<StepSchedule>> AddExchanges(const std::vector<std::vector<Action>>& actions,
                                                 const ScheduleLayout& layout);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_EXCHANGE_H_
