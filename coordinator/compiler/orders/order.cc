// The table of orders, and what every order needs around its actions.
#include "coordinator/compiler/orders/order.h"

#include <algorithm>

namespace trireme {

std::vector<Action> GpipeOrder(const OrderInput& input);
std::vector<Action> OneFOneBOrder(const OrderInput& input);

namespace {

struct Entry {
  std::string_view name;
  std::vector<Action> (*actions)(const OrderInput& input);
};

constexpr Entry kOrders[] = {{"gpipe", GpipeOrder}, {"1f1b", OneFOneBOrder}};

// Hands out slots; a slot is free again once its microbatch's backward has run.
class Slots {
 public:
  int32_t Of(int32_t microbatch) {
    for (size_t i = 0; i < holder_.size(); ++i) {
      if (holder_[i] == microbatch) return static_cast<int32_t>(i);
    }
    const auto free = std::find(holder_.begin(), holder_.end(), -1);
    if (free != holder_.end()) {
      *free = microbatch;
      return static_cast<int32_t>(free - holder_.begin());
    }
    holder_.push_back(microbatch);
    return static_cast<int32_t>(holder_.size()) - 1;
  }
  void Free(int32_t microbatch) { std::replace(holder_.begin(), holder_.end(), microbatch, -1); }
  int32_t count() const { return std::max<int32_t>(1, static_cast<int32_t>(holder_.size())); }

 private:
  std::vector<int32_t> holder_;
};

ScheduleItem Run(Phase phase, int32_t microbatch, int32_t slot) {
  return {.kind = ItemKind::kRun, .phase = phase, .microbatch = microbatch, .slot = slot};
}

}  // namespace

std::vector<std::string_view> OrderNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kOrders) names.push_back(entry.name);
  return names;
}

StatusOr<std::vector<Action>> OrderActions(std::string_view order, const OrderInput& input) {
  std::string known;
  for (const Entry& entry : kOrders) {
    if (entry.name == order) return entry.actions(input);
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return InvalidArgument("pipeline.order: unknown order \"" + std::string(order) +
                         "\"; known: " + known);
}

StepSchedule AddExchanges(const std::vector<Action>& actions, const OrderInput& input) {
  StepSchedule schedule{.stage = input.stage};
  Slots slots;
  const bool first = input.stage == 0;
  const bool last = input.stage == input.num_stages - 1;
  schedule.items.push_back(Run(Phase::kGather, -1, -1));
  std::vector<Transfer> sends;
  for (const Action& action : actions) {
    const bool forward = action.phase == Phase::kForward;
    const int32_t slot = slots.Of(action.microbatch);
    std::vector<Transfer> receives;
    if (forward && !first) receives.push_back({input.stage - 1, false, action.microbatch, slot});
    if (!forward && !last) receives.push_back({input.stage + 1, true, action.microbatch, slot});
    if (!sends.empty() || !receives.empty()) {
      schedule.items.push_back({.kind = ItemKind::kExchange, .sends = sends, .receives = receives});
    }
    sends.clear();
    schedule.items.push_back(Run(action.phase, action.microbatch, slot));
    if (forward && !last) sends.push_back({input.stage + 1, false, action.microbatch, slot});
    if (!forward && !first) sends.push_back({input.stage - 1, true, action.microbatch, slot});
    if (!forward) slots.Free(action.microbatch);
  }
  if (!sends.empty()) schedule.items.push_back({.kind = ItemKind::kExchange, .sends = sends});
  schedule.items.push_back(Run(Phase::kUpdate1, -1, -1));
  schedule.items.push_back(Run(Phase::kUpdate2, -1, -1));
  schedule.num_slots = slots.count();
  return schedule;
}

StatusOr<std::vector<StepSchedule>> BuildSchedules(std::string_view order, int32_t num_stages,
                                                   int32_t num_microbatches) {
  std::vector<StepSchedule> schedules;
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    const OrderInput input{stage, num_stages, num_microbatches};
    ASSIGN_OR_RETURN(const std::vector<Action> actions, OrderActions(order, input));
    schedules.push_back(AddExchanges(actions, input));
  }
  RETURN_IF_ERROR(ValidateSchedules(schedules, num_microbatches));
  return schedules;
}

}  // namespace trireme
