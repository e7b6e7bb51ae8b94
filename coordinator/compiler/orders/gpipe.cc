// GPipe: all forwards, then all backwards. Huang et al. 2019, arXiv:1811.06965.
#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

std::vector<Action> Actions(const OrderInput& input) {
  std::vector<Action> actions;
  for (int32_t m = 0; m < input.num_microbatches; ++m) actions.push_back({Phase::kForward, m});
  for (int32_t m = 0; m < input.num_microbatches; ++m) actions.push_back({Phase::kBackward, m});
  return actions;
}

}  // namespace

Order GpipeOrder() {
  return {
      "gpipe", {}, [](const OrderInput& input) { return CheckChunks("gpipe", input, 1); }, Actions};
}

}  // namespace trireme
