// 1F1B: after a warm-up of one forward for each later stage, one forward and one backward in turn.
// Narayanan et al. 2021, arXiv:2104.04473. At most (stages - stage) microbatches are in flight.
#include <algorithm>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

std::vector<Action> Actions(const OrderInput& input) {
  const int32_t warmup = std::min(input.num_microbatches, input.num_stages - 1 - input.stage);
  std::vector<Action> actions;
  for (int32_t m = 0; m < warmup; ++m) actions.push_back({Phase::kForward, m});
  for (int32_t m = warmup; m < input.num_microbatches; ++m) {
    actions.push_back({Phase::kForward, m});
    actions.push_back({Phase::kBackward, m - warmup});
  }
  for (int32_t m = input.num_microbatches - warmup; m < input.num_microbatches; ++m) {
    actions.push_back({Phase::kBackward, m});
  }
  return actions;
}

}  // namespace

Order OneFOneBOrder() {
  return {
      "1f1b", {}, [](const OrderInput& input) { return CheckChunks("1f1b", input, 1); }, Actions};
}

}  // namespace trireme
