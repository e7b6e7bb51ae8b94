// When messages are sent: activations late, gradients early, one order for all.
#include "coordinator/compiler/orders/meetings.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

constexpr Phase kF = Phase::kForward;
constexpr Phase kB = Phase::kBackward;

const Meeting& Find(const std::vector<Meeting>& meetings, bool gradient, int edge, int microbatch) {
  for (const Meeting& m : meetings) {
    if (m.gradient == gradient && m.edge == edge && m.microbatch == microbatch) return m;
  }
  static const Meeting none{.time = -1};
  return none;
}

// Stage 0 has all forwards done at 3; stage 1 takes microbatch 1 after F0 and B0, at 4.
TEST(Meetings, ActivationsWaitForTheirForward) {
  const std::vector<std::vector<Action>> actions = {
      {{kF, 0}, {kF, 1}, {kF, 2}, {kB, 0}, {kB, 1}, {kB, 2}},
      {{kF, 0}, {kB, 0}, {kF, 1}, {kB, 1}, {kF, 2}, {kB, 2}}};
  const auto meetings = FindMeetings(actions, {.num_stages = 2, .num_microbatches = 3});
  ASSERT_TRUE(meetings.ok()) << meetings.status();
  ASSERT_EQ(meetings->size(), 6u);
  const Meeting& second = Find(*meetings, false, 0, 1);
  EXPECT_EQ(second.time, 4);
  EXPECT_EQ(second.from_gap, 3);
  EXPECT_EQ(second.to_gap, 2);
}

// Stage 0 could take the gradient of microbatch 1 at 5 only, but it is sent at 4, when stage 1 has
// made it and stage 0 is between F2 and B0: a gradient does not wait for its backward.
TEST(Meetings, GradientsLeaveAtOnce) {
  const std::vector<std::vector<Action>> actions = {
      {{kF, 0}, {kF, 1}, {kF, 2}, {kB, 0}, {Phase::kWeightGrad, 0}, {kB, 1}},
      {{kF, 0}, {kF, 1}, {kB, 0}, {kB, 1}}};
  const auto meetings =
      FindMeetings(actions, {.num_stages = 2, .num_microbatches = 3, .splits_weight_grad = true});
  ASSERT_TRUE(meetings.ok()) << meetings.status();
  const Meeting& second = Find(*meetings, true, 0, 1);
  EXPECT_EQ(second.time, 5);
  EXPECT_EQ(second.from_gap, 4);
  EXPECT_EQ(second.to_gap, 4);  // before W0, not after it
}

TEST(Meetings, OneOrderGradientsFirst) {
  const std::vector<std::vector<Action>> actions = {{{kF, 0}, {kF, 1}, {kB, 0}, {kB, 1}},
                                                    {{kF, 0}, {kB, 0}, {kF, 1}, {kB, 1}}};
  const auto meetings = FindMeetings(actions, {.num_stages = 2, .num_microbatches = 2});
  ASSERT_TRUE(meetings.ok()) << meetings.status();
  std::string text;
  for (const Meeting& m : *meetings)
    text += (m.gradient ? "b" : "f") + std::to_string(m.microbatch) + "@" + std::to_string(m.time) +
            " ";
  EXPECT_EQ(text, "f0@1 b0@4 f1@4 b1@7 ");
}

TEST(Meetings, ActionsThatWaitForEachOtherAreNamed) {
  const std::vector<std::vector<Action>> actions = {{{kB, 0}, {kF, 0}}, {{kF, 0}, {kB, 0}}};
  const Status status = FindMeetings(actions, {.num_stages = 2, .num_microbatches = 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(status.ToString().find("stage 0: action 0 is B0 of chunk 0"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace trireme
