// GPipe: all forwards, then all backwards, on every stage alike.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

TEST(Gpipe, ForwardsThenBackwardsOnEveryStage) {
  for (const int stage : {0, 1, 2}) {
    const StatusOr<std::vector<Action>> actions = OrderActions("gpipe", {stage, 3, 5});
    ASSERT_TRUE(actions.ok()) << actions.status();
    ASSERT_EQ(actions->size(), 10u);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ((*actions)[i], (Action{i < 5 ? Phase::kForward : Phase::kBackward, i % 5})) << i;
    }
  }
}

}  // namespace
}  // namespace trireme
