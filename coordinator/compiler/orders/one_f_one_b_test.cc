// 1F1B: at most (stages - stage) microbatches in flight, each phase in microbatch order, the last
// stage never waits.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

TEST(OneFOneB, InFlightIsBoundedAndEachPhaseInOrder) {
  for (const int stages : {1, 2, 4, 7}) {
    for (const int microbatches : {1, 3, 8}) {
      for (int stage = 0; stage < stages; ++stage) {
        const StatusOr<std::vector<Action>> actions =
            OrderActions("1f1b", {stage, stages, microbatches});
        ASSERT_TRUE(actions.ok()) << actions.status();
        int forwards = 0;
        int backwards = 0;
        for (const Action& action : *actions) {
          int& next = action.phase == Phase::kForward ? forwards : backwards;
          EXPECT_EQ(action.microbatch, next++);
          EXPECT_LE(backwards, forwards);
          EXPECT_LE(forwards - backwards, stages - stage);
        }
        EXPECT_EQ(forwards, microbatches);
        EXPECT_EQ(backwards, microbatches);
      }
    }
  }
}

TEST(OneFOneB, LastStageAlternates) {
  const StatusOr<std::vector<Action>> actions = OrderActions("1f1b", {3, 4, 6});
  ASSERT_TRUE(actions.ok()) << actions.status();
  for (size_t i = 0; i < actions->size(); ++i) {
    EXPECT_EQ((*actions)[i].phase, i % 2 == 0 ? Phase::kForward : Phase::kBackward);
  }
}

}  // namespace
}  // namespace trireme
