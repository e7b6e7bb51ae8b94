// GPipe: all forwards, then all backwards, on every stage alike; its bubble and slots in closed
// form.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/testing.h"

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

TEST(Gpipe, Text) {
  EXPECT_EQ(SchedulesText("gpipe", 2, 3),
            "G F0 >f0 F1 >f1 F2 >f2+<b0 B0 <b1 B1 <b2 B2 U1 U2\n"
            "G <f0 F0 <f1 F1 <f2 F2 B0 >b0 B1 >b1 B2 >b2 U1 U2\n");
}

TEST(Gpipe, BubbleAndSlotsInClosedForm) {
  for (const int p : {1, 2, 3, 5, 8}) {
    for (const int m : {1, 2, 7, 16}) {
      const Simulated run = Simulate("gpipe", p, m);
      EXPECT_EQ(run.timeline.makespan, 3 * (m + p - 1)) << p << " " << m;
      EXPECT_DOUBLE_EQ(run.timeline.bubble, (p - 1.0) / (m + p - 1)) << p << " " << m;
      for (int s = 0; s < p; ++s) EXPECT_EQ(run.slots(s), m);
    }
  }
}

}  // namespace
}  // namespace trireme
