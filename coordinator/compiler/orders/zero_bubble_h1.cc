// ZB-H1: 1F1B whose backward is split; weight gradients fill what would be idle, `stage` backwards
// late, so that every stage keeps as many microbatches as the first stage of 1F1B.
// Qi et al. 2023, arXiv:2401.10241.
#include <algorithm>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

constexpr std::string_view kName = "zero_bubble_h1";

std::vector<Action> Actions(const OrderInput& input) {
  std::vector<Action> actions;
  int32_t next_forward = std::min(input.num_microbatches, input.num_stages - input.stage);
  for (int32_t m = 0; m < next_forward; ++m) actions.push_back({Phase::kForward, m});
  for (int32_t m = 0; m < input.num_microbatches; ++m) {
    actions.push_back({Phase::kBackward, m});
    if (m >= input.stage) actions.push_back({Phase::kWeightGrad, m - input.stage});
    if (next_forward < input.num_microbatches) actions.push_back({Phase::kForward, next_forward++});
  }
  for (int32_t m = std::max(0, input.num_microbatches - input.stage); m < input.num_microbatches;
       ++m) {
    actions.push_back({Phase::kWeightGrad, m});
  }
  return actions;
}

}  // namespace

Order ZeroBubbleH1Order() {
  return {kName,
          {.splits_weight_grad = true},
          [](const OrderInput& input) { return CheckChunks(kName, input, 1); },
          Actions};
}

}  // namespace trireme
