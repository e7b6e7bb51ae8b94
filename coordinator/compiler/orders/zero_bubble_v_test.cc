// ZB-V: text; no stage idles between its first and its last action; the memory of 1F1B.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

TEST(ZeroBubbleV, Text) {
  EXPECT_EQ(SchedulesText("zero_bubble_v", 2, 3),
            "G F0 >f0 F1 F2 >f1+<f0b F0b B0b >b0b W0b <f1b F1b >f2 B1b >b1b W1b <b0 B0 W0 <f2b "
            "F2b B2b >b2b W2b <b1 B1 W1 <b2 B2 W2 U1 U2\n"
            "G <f0 F0 >f0+<f0b F0b >f0b+<f1 F1 >f1+<f1b F1b <b0b B0b >b0b+>f1b+<b0 W0b <f2 F2 "
            "<b1b B0 >b0 W0 >f2+<f2b F2b >f2b B1b >b1b+<b1 W1b <b2b B1 >b1 B2b >b2b+<b2 B2 >b2 W1 "
            "W2b W2 U1 U2\n");
}

// From 2p - 1 microbatches on, each stage works 6m units (two chunks of F, B and W) without a
// pause; stage s starts after s units, so that the makespan is 6m + p - 1: what remains is the time
// until the last stage can start, which the next step may overlap.
TEST(ZeroBubbleV, NoStageIdlesBetweenItsFirstAndLastAction) {
  for (const int p : {1, 2, 3, 4, 5, 8}) {
    for (const int m : {2 * p - 1, 2 * p, 3 * p + 1, 5 * p}) {
      const Simulated run = Simulate("zero_bubble_v", p, m);
      for (int s = 0; s < p; ++s) EXPECT_EQ(run.Span(s), 6 * m) << p << " " << m << " " << s;
      EXPECT_EQ(run.timeline.makespan, 6 * m + p - 1) << p << " " << m;
    }
  }
}

// p microbatches of a whole stage, as 2p of one of its two chunks.
TEST(ZeroBubbleV, SlotsOf1f1bOnEveryStage) {
  for (const int p : {1, 2, 3, 4, 5, 8}) {
    for (const int m : {2 * p, 5 * p}) {
      const Simulated run = Simulate("zero_bubble_v", p, m);
      for (int s = 0; s < p; ++s) EXPECT_EQ(run.slots(s), 2 * p) << p << " " << m;
    }
  }
}

TEST(ZeroBubbleV, RunsTwoChunks) {
  const Status status = BuildSchedules("zero_bubble_v", 2, 4, 3).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("runs 2 chunks a stage, not 3"), std::string::npos) << status;
}

}  // namespace
}  // namespace trireme
