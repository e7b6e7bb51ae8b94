// 1F1B: after a warm-up of one forward for each later stage, one forward and one backward in turn.
// Narayanan et al. 2021, arXiv:2104.04473. At most (stages - stage) microbatches are in flight.
#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

std::vector<Action> Actions(const OrderInput& input) {
  return OneForwardOneBackward(input.num_microbatches, input.num_stages - 1 - input.stage);
}

}  // namespace

Order OneFOneBOrder() {
  return {
      "1f1b", {}, [](const OrderInput& input) { return CheckChunks("1f1b", input, 1); }, Actions};
}

}  // namespace trireme
