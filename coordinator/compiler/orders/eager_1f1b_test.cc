// Eager 1F1B: the makespan of 1F1B with up to 2 (stages - 1 - stage) + 1 microbatches in flight.
#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

TEST(Eager1F1B, Text) {
  EXPECT_EQ(SchedulesText("eager_1f1b", 2, 3),
            "G F0 >f0 F1 F2 >f1+<b0 B0 >f2+<b1 B1 <b2 B2 U1 U2\n"
            "G <f0 F0 B0 >b0+<f1 F1 B1 >b1+<f2 F2 B2 >b2 U1 U2\n");
}

TEST(Eager1F1B, BubbleAndSlotsInClosedForm) {
  for (const int p : {1, 2, 3, 5, 8}) {
    for (const int m : {1, 2, 7, 16}) {
      const Simulated run = Simulate("eager_1f1b", p, m);
      EXPECT_EQ(run.timeline.makespan, 3 * (m + p - 1)) << p << " " << m;
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(run.slots(s), std::min(m, 2 * (p - 1 - s) + 1)) << p << " " << m;
      }
    }
  }
}

}  // namespace
}  // namespace trireme
