// 1F1B: at most (stages - stage) microbatches in flight, each phase in microbatch order, the last
// stage never waits; the bubble of GPipe.
#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/compiler/orders/testing.h"

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

TEST(OneFOneB, Text) {
  EXPECT_EQ(SchedulesText("1f1b", 3, 3),
            "G F0 >f0 F1 >f1 F2 >f2+<b0 B0 <b1 B1 <b2 B2 U1 U2\n"
            "G <f0 F0 >f0+<f1 F1 >f1+<b0 B0 >b0+<f2 F2 >f2+<b1 B1 >b1+<b2 B2 >b2 U1 U2\n"
            "G <f0 F0 B0 >b0+<f1 F1 B1 >b1+<f2 F2 B2 >b2 U1 U2\n");
}

TEST(OneFOneB, BubbleAndSlotsInClosedForm) {
  for (const int p : {1, 2, 3, 5, 8}) {
    for (const int m : {1, 2, 7, 16}) {
      const Simulated run = Simulate("1f1b", p, m);
      EXPECT_EQ(run.timeline.makespan, 3 * (m + p - 1)) << p << " " << m;
      EXPECT_DOUBLE_EQ(run.timeline.bubble, (p - 1.0) / (m + p - 1)) << p << " " << m;
      for (int s = 0; s < p; ++s) EXPECT_EQ(run.slots(s), std::min(m, p - s)) << p << " " << m;
    }
  }
}

}  // namespace
}  // namespace trireme
