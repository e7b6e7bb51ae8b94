// The table of orders, and schedules from a name.
#include "coordinator/compiler/orders/order.h"

#include <algorithm>

#include "coordinator/compiler/orders/exchange.h"
#include "coordinator/compiler/orders/validate.h"

// One line an order: X(Name) stands for the function NameOrder() of the order's file.
#define TRIREME_ORDERS(X) \
  X(Gpipe)                \
  X(OneFOneB)             \
  X(Eager1F1B)            \
  X(Interleaved)          \
  X(ZeroBubbleH1)         \
  X(ZeroBubbleV)          \
  X(DualPipeV)

namespace trireme {

#define TRIREME_DECLARE_ORDER(Name) Order Name##Order();
TRIREME_ORDERS(TRIREME_DECLARE_ORDER)
#undef TRIREME_DECLARE_ORDER

namespace {

const std::vector<Order>& Orders() {
#define TRIREME_CALL_ORDER(Name) Name##Order(),
  static const std::vector<Order>& orders =
      *new std::vector<Order>{TRIREME_ORDERS(TRIREME_CALL_ORDER)};
#undef TRIREME_CALL_ORDER
  return orders;
}

StatusOr<Order> Find(std::string_view name) {
  std::string known;
  for (const Order& order : Orders()) {
    if (order.name == name) return order;
    known += (known.empty() ? "" : ", ") + std::string(order.name);
  }
  return InvalidArgument("pipeline.order: unknown order \"" + std::string(name) +
                         "\"; known: " + known);
}

Status Check(const Order& order, const OrderInput& input) {
  if (input.num_stages < 1 || input.num_microbatches < 1 || input.num_chunks < 1) {
    return InvalidArgument(
        "pipeline.order " + std::string(order.name) +
        " needs at least one stage, microbatch and chunk; got " + std::to_string(input.num_stages) +
        ", " + std::to_string(input.num_microbatches) + " and " + std::to_string(input.num_chunks));
  }
  return order.check(input);
}

OrderInput Input(const Order& order, int32_t num_stages, int32_t num_microbatches,
                 int32_t chunks_per_stage) {
  const int32_t chunks = chunks_per_stage == 0 ? order.traits.default_chunks : chunks_per_stage;
  return {0, num_stages, num_microbatches, chunks};
}

ScheduleLayout LayoutOf(const Order& order, const OrderInput& input) {
  return {order.traits.placement, input.num_stages, input.num_chunks, input.num_microbatches,
          order.traits.splits_weight_grad};
}

}  // namespace

std::vector<std::string_view> OrderNames() {
  std::vector<std::string_view> names;
  for (const Order& order : Orders()) names.push_back(order.name);
  return names;
}

StatusOr<OrderTraits> FindOrder(std::string_view name) {
  ASSIGN_OR_RETURN(const Order order, Find(name));
  return order.traits;
}

StatusOr<std::vector<Action>> OrderActions(std::string_view name, const OrderInput& input) {
  ASSIGN_OR_RETURN(const Order order, Find(name));
  RETURN_IF_ERROR(Check(order, input));
  return order.actions(input);
}

StatusOr<ScheduleLayout> OrderLayout(std::string_view name, int32_t num_stages,
                                     int32_t num_microbatches, int32_t chunks_per_stage) {
  ASSIGN_OR_RETURN(const Order order, Find(name));
  const OrderInput input = Input(order, num_stages, num_microbatches, chunks_per_stage);
  RETURN_IF_ERROR(Check(order, input));
  return LayoutOf(order, input);
}

StatusOr<std::vector<StepSchedule>> BuildSchedules(std::string_view name, int32_t num_stages,
                                                   int32_t num_microbatches,
                                                   int32_t chunks_per_stage) {
  ASSIGN_OR_RETURN(const Order order, Find(name));
  OrderInput input = Input(order, num_stages, num_microbatches, chunks_per_stage);
  RETURN_IF_ERROR(Check(order, input));
  std::vector<std::vector<Action>> actions;
  for (input.stage = 0; input.stage < num_stages; ++input.stage)
    actions.push_back(order.actions(input));
  const ScheduleLayout layout = LayoutOf(order, input);
  ASSIGN_OR_RETURN(std::vector<StepSchedule> schedules, AddExchanges(actions, layout));
  RETURN_IF_ERROR(ValidateSchedules(schedules, layout));
  return schedules;
}

std::vector<Action> OneForwardOneBackward(int32_t num_microbatches, int32_t warmup) {
  warmup = std::min(warmup, num_microbatches);
  std::vector<Action> actions;
  for (int32_t m = 0; m < warmup; ++m) actions.push_back({Phase::kForward, m});
  for (int32_t m = warmup; m < num_microbatches; ++m) {
    actions.push_back({Phase::kForward, m});
    actions.push_back({Phase::kBackward, m - warmup});
  }
  for (int32_t m = num_microbatches - warmup; m < num_microbatches; ++m) {
    actions.push_back({Phase::kBackward, m});
  }
  return actions;
}

Status CheckChunks(std::string_view order, const OrderInput& input, int32_t chunks) {
  if (input.num_chunks == chunks) return absl::OkStatus();
  return InvalidArgument(
      "pipeline.chunks_per_stage: " + std::string(order) + " runs " + std::to_string(chunks) +
      " chunk" + (chunks == 1 ? "" : "s") + " a stage, not " + std::to_string(input.num_chunks) +
      "; leave chunks_per_stage out" + (chunks == 1 ? " or choose interleaved_1f1b" : ""));
}

}  // namespace trireme
