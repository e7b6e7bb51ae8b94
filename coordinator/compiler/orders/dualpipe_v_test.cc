// DualPipeV: text, bubble below the published one, published in-flight count, what it needs.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

TEST(DualPipeV, Text) { EXPECT_EQ(SchedulesText("dualpipe_v", 1, 2), "G F0 >f0b+<f0 U1 U2\n"); }

// Published, for P = 2p virtual stages: (P/2 - 1)(F&B + B - 3W), where B is a whole backward and
// F&B a forward beside one. Without overlap and with T_F = T_B = T_W = 1, F&B is 3 and B is 2,
// which makes 2 (p - 1). Here input gradients always leave before the weight gradient runs, which
// takes another W off every hop: (p - 1)(F&B + B - 4W) = p - 1.
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
      for (int s = 0; s < p; ++s) EXPECT_EQ(run.slots(s), m == 1 ? 2 : 2 * p + 1) << p << " " << m;
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
