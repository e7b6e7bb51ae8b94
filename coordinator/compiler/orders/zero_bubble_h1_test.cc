// ZB-H1: text, a third of the bubble of 1F1B, no more microbatches than its first stage holds.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

TEST(ZeroBubbleH1, Text) {
  EXPECT_EQ(SchedulesText("zero_bubble_h1", 2, 3),
            "G F0 >f0 F1 >f1+<b0 B0 W0 <b1 F2 >f2 B1 W1 <b2 B2 W2 U1 U2\n"
            "G <f0 F0 B0 >b0+<f1 F1 B1 >b1 W0 <f2 F2 B2 >b2 W1 W2 U1 U2\n");
}

// With T_F = T_B = T_W = 1 the extra time (p - 1)(T_F + T_B - T_W) is p - 1.
TEST(ZeroBubbleH1, BubbleInClosedForm) {
  for (const int p : {1, 2, 3, 4, 5, 8}) {
    for (const int m : {p, p + 1, 2 * p, 3 * p + 1}) {
      const Simulated run = Simulate("zero_bubble_h1", p, m);
      EXPECT_EQ(run.timeline.makespan, 3 * m + p - 1) << p << " " << m;
      EXPECT_NEAR(run.timeline.bubble, (p - 1.0) / (3 * m + p - 1), 1e-12) << p << " " << m;
    }
  }
}

TEST(ZeroBubbleH1, SlotsOfTheFirstStageOf1f1b) {
  for (const int p : {1, 2, 3, 4, 5, 8}) {
    for (const int m : {1, p, 2 * p, 3 * p + 1}) {
      const Simulated run = Simulate("zero_bubble_h1", p, m);
      for (int s = 0; s < p; ++s) EXPECT_EQ(run.slots(s), std::min(m, p)) << p << " " << m;
    }
  }
}

}  // namespace
}  // namespace trireme
