// DualPipeV: text, bubble below the published one, published in-flight count, what it needs.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

TEST(DualPipeV, Text) {
  EXPECT_EQ(SchedulesText("dualpipe_v", 2, 4),
            "G F0 >f0 F1 F2 >f1+<f0b F0b B0b >b0b+>f2 W0b <f1b F1b F3 B1b >b1b W1b <b0+<f2b F2b "
            ">f3 B0 W0 B2b >b2b W2b <f3b F3b <b1 B1 W1 B3b >b3b W3b <b2 B2 W2 <b3 B3 W3 U1 U2\n"
            "G <f0 F0 >f0+<f0b F0b >f0b+<f1 F1 >f1+<f1b F1b <b0b+<f2 F2 >f1b B0b >b0b+<b0 W0b "
            ">f2+<f2b F2b <b1b B0 >b0+>f2b W0 <f3 F3 B1b >b1b+<b1 W1b >f3+<b2b+<f3b F3b >f3b B1 "
            ">b1 W1 B2b >b2b+<b2 W2b <b3b B2 >b2 W2 B3b >b3b+<b3 B3 >b3 W3b W3 U1 U2\n");
}

// Published, for P = 2p virtual stages: (P/2 - 1)(F&B + B - 3W), where B is a whole backward and
// F&B a forward beside one. Without overlap and with T_F = T_B = T_W = 1, F&B is 3 and B is 2,
// which makes 2 (p - 1). Here input gradients always leave before the weight gradient runs, also
// where both follow each other, which halves it.
TEST(DualPipeV, BubbleInClosedForm) {
  for (const int p : {1, 2, 3, 4, 5, 8}) {
    for (const int m : {2 * p, 2 * p + 1, 3 * p, 5 * p}) {
      const Simulated run = Simulate("dualpipe_v", p, m);
      EXPECT_EQ(run.timeline.makespan, 6 * m + p - 1) << p << " " << m;
      EXPECT_LE(run.timeline.makespan - 6 * m, 2 * (p - 1));
    }
  }
}

// P + 1 activations of a virtual stage on every stage.
TEST(DualPipeV, SlotsInClosedForm) {
  for (const int p : {1, 2, 3, 4, 5, 8}) {
    for (const int m : {2 * p, 3 * p, 5 * p}) {
      const Simulated run = Simulate("dualpipe_v", p, m);
      for (int s = 0; s < p; ++s) EXPECT_EQ(run.slots(s), 2 * p + 1) << p << " " << m;
    }
  }
}

TEST(DualPipeV, SaysWhatItNeeds) {
  const Status status = BuildSchedules("dualpipe_v", 4, 7).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("8 for 4 stages, but a step has 7"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace trireme
