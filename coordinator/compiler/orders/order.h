// Pipeline orders: which microbatch a stage works on when. Generators emit compute only;
// AddExchanges adds the transfers between stages, slots are counted, and a validator proves that
// the result cannot deadlock.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_ORDER_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_ORDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/plan/program.h"

namespace trireme {

struct Action {
  Phase phase = Phase::kForward;  // F or B
  int32_t microbatch = 0;
  bool operator==(const Action&) const = default;
};

struct OrderInput {
  int32_t stage = 0;
  int32_t num_stages = 1;
  int32_t num_microbatches = 1;
};

// The actions of one stage. Errors: kInvalidArgument listing the known orders.
StatusOr<std::vector<Action>> OrderActions(std::string_view order, const OrderInput& input);
std::vector<std::string_view> OrderNames();

// Schedules of all stages: G, the order's actions with exchanges between them, U1, U2.
StatusOr<std::vector<StepSchedule>> BuildSchedules(std::string_view order, int32_t num_stages,
                                                   int32_t num_microbatches);

// One stage's actions with the exchanges and slots they need.
StepSchedule AddExchanges(const std::vector<Action>& actions, const OrderInput& input);

// Checks that every microbatch runs F then B once on every stage, that slots are not shared by two
// live microbatches, and that the exchanges complete under rendezvous. Errors: kInternal with the
// stage, the item and where every stage stands.
Status ValidateSchedules(const std::vector<StepSchedule>& schedules, int32_t num_microbatches);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_ORDER_H_
