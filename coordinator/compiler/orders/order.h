// Pipeline orders: which microbatch of which chunk a stage works on when. Generators emit compute
// only; AddExchanges (exchange.h) adds the transfers between stages and the slots, and a validator
// (validate.h) proves the result.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_ORDER_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_ORDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/plan/program.h"
#include "coordinator/compiler/orders/layout.h"

namespace trireme {

struct Action {
  Phase phase = Phase::kForward;  // F; B; W where the order splits the weight gradient off
  int32_t microbatch = 0;
  int32_t chunk = 0;
  bool operator==(const Action&) const = default;
};

struct OrderInput {
  int32_t stage = 0;
  int32_t num_stages = 1;
  int32_t num_microbatches = 1;
  int32_t num_chunks = 1;  // of each stage
};

struct OrderTraits {
  int32_t default_chunks = 1;  // of each stage
  bool splits_weight_grad = false;
  Placement placement = Placement::kLoop;
};

// A pipeline order, as its own file defines it.
struct Order {
  std::string_view name;
  OrderTraits traits;
  // What the order needs of the numbers of stages, microbatches and chunks. Errors:
  // kInvalidArgument naming the values and the way out.
  Status (*check)(const OrderInput& input);
  // The actions of input.stage, in order. Called with what `check` accepts.
  std::vector<Action> (*actions)(const OrderInput& input);
};

std::vector<std::string_view> OrderNames();

// Errors: kInvalidArgument listing the known orders.
StatusOr<OrderTraits> FindOrder(std::string_view name);

// The actions of one stage. Errors: kInvalidArgument if the order is not known or does not fit.
StatusOr<std::vector<Action>> OrderActions(std::string_view order, const OrderInput& input);

// Place of a stage's chunk along the model's chain.
inline int32_t VirtualStage(const OrderTraits& traits, int32_t stage, int32_t chunk,
                            int32_t num_stages) {
  return VirtualStage(traits.placement, stage, chunk, num_stages);
}

// Validated schedules of all stages: G, the order's actions with exchanges between them, U1, U2.
// chunks_per_stage 0 is the order's default. Errors: as OrderActions.
StatusOr<std::vector<StepSchedule>> BuildSchedules(std::string_view order, int32_t num_stages,
                                                   int32_t num_microbatches,
                                                   int32_t chunks_per_stage = 0);

// Layout that the schedules of BuildSchedules have. Errors: as OrderActions.
StatusOr<ScheduleLayout> OrderLayout(std::string_view order, int32_t num_stages,
                                     int32_t num_microbatches, int32_t chunks_per_stage = 0);

// For orders: `warmup` forwards (or all there are), then a forward and a backward in turn, then the
// backwards that are left.
std::vector<Action> OneForwardOneBackward(int32_t num_microbatches, int32_t warmup);

// For orders: kInvalidArgument unless num_chunks is `chunks`.
Status CheckChunks(std::string_view order, const OrderInput& input, int32_t chunks);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_ORDER_H_
