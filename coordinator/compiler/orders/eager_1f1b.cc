// Eager 1F1B: 1F1B with twice the warm-up, so that a microbatch is ready before the gradient that
// goes ahead of it and slow transfers hold nobody up. Zhuang et al. 2022, arXiv:2211.05322. At most
// 2 (stages - 1 - stage) + 1 microbatches are in flight.
#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

std::vector<Action> Actions(const OrderInput& input) {
  return OneForwardOneBackward(input.num_microbatches, 2 * (input.num_stages - 1 - input.stage));
}

}  // namespace

Order Eager1F1BOrder() {
  return {"eager_1f1b",
          {},
          [](const OrderInput& input) { return CheckChunks("eager_1f1b", input, 1); },
          Actions};
}

}  // namespace trireme
