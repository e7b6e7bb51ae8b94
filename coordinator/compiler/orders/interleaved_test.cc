// Interleaved 1F1B: text, Megatron's bubble and in-flight counts, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

TEST(Interleaved, Text) {
  EXPECT_EQ(SchedulesText("interleaved_1f1b", 2, 2),
            "G F0 >f0 F1 >f1+<f0b F0b >f0b+<f1b F1b >f1b+<b0b B0b >b0b+<b1b B1b >b1b+<b0 B0 <b1 B1 "
            "U1 U2\n"
            "G <f0 F0 >f0+<f1 F1 >f1+<f0b F0b B0b >b0b+<f1b F1b B1b >b1b+<b0 B0 >b0+<b1 B1 >b1 "
            "U1 U2\n");
}

// A stage's F and B take 1 and 2 for each of v chunks, so that (p - 1)(T_F + T_B) / v is 3 (p - 1).
TEST(Interleaved, BubbleInClosedForm) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int v : {2, 3, 4}) {
      for (const int rounds : {1, 2, 3}) {
        const int m = rounds * p;
        const Simulated run = Simulate("interleaved_1f1b", p, m, v);
        const double stage_time = 3.0 * v;
        EXPECT_DOUBLE_EQ(run.timeline.makespan, m * stage_time + (p - 1) * stage_time / v)
            << p << " " << m << " " << v;
      }
    }
  }
}

// Warm-up of 2 (p - 1 - s) + (v - 1) p, and one more; at stage 0 (1 + (p - 1) / (p v)) times the p
// whole microbatches of 1F1B.
TEST(Interleaved, SlotsInClosedForm) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int v : {2, 3, 4}) {
      const int m = 3 * p;
      const Simulated run = Simulate("interleaved_1f1b", p, m, v);
      EXPECT_EQ(run.slots(0), p * v + p - 1);
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(run.slots(s), std::min(m * v, 2 * (p - 1 - s) + (v - 1) * p + 1));
        EXPECT_EQ(run.timeline.peak_slots[s], run.slots(s));
      }
    }
  }
}

TEST(Interleaved, SaysWhatItNeeds) {
  const Status odd = OrderActions("interleaved_1f1b", {0, 4, 6, 2}).status();
  EXPECT_EQ(odd.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(odd.ToString().find("has 6; try 4 or 8 microbatches, or order 1f1b"), std::string::npos)
      << odd;
  const Status one = OrderActions("interleaved_1f1b", {0, 4, 8, 1}).status();
  EXPECT_NE(one.ToString().find("1 chunk a stage is 1f1b"), std::string::npos) << one;
}

}  // namespace
}  // namespace trireme
