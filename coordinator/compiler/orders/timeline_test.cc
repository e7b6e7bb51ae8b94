// Times of small schedules by hand: rendezvous, transfers one after the other on a link, deadlock.
#include "coordinator/compiler/orders/timeline.h"

#include <gtest/gtest.h>

#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

ScheduleItem RunItem(Phase phase, int microbatch) {
  return {.kind = ItemKind::kRun, .phase = phase, .microbatch = microbatch, .slot = 0};
}
ScheduleItem Send(int peer, int microbatch) {
  return {.kind = ItemKind::kExchange, .sends = {{peer, false, microbatch}}};
}
ScheduleItem Receive(int peer, int microbatch) {
  return {.kind = ItemKind::kExchange, .receives = {{peer, false, microbatch}}};
}

TEST(Timeline, BothSidesWaitForTheLater) {
  const std::vector<StepSchedule> schedules = {
      {0, 1, {RunItem(Phase::kForward, 0), Send(1, 0)}},
      {1, 1, {Receive(0, 0), RunItem(Phase::kForward, 0)}}};
  ScheduleCosts costs = EqualCosts(false);
  costs.transfer = [](int32_t, int32_t, bool) { return 0.25; };
  const Timeline timeline = SimulateSchedules(schedules, costs);
  EXPECT_TRUE(timeline.complete);
  EXPECT_EQ(timeline.items[1][0].start, 0);
  EXPECT_EQ(timeline.items[1][0].met, 1);
  EXPECT_EQ(timeline.items[1][0].end, 1.25);
  EXPECT_EQ(timeline.items[0][1].end, 1.25);
  EXPECT_EQ(timeline.makespan, 2.25);
  EXPECT_EQ(timeline.busy, (std::vector<double>{1, 1}));
  EXPECT_DOUBLE_EQ(timeline.bubble, 1 - 2 / 4.5);
}

TEST(Timeline, MessagesOfOneLinkFollowEachOther) {
  ScheduleItem sends = Send(1, 0);
  sends.sends.push_back({1, false, 1});
  ScheduleItem receives = Receive(0, 0);
  receives.receives.push_back({0, false, 1});
  ScheduleCosts costs = EqualCosts(false);
  costs.transfer = [](int32_t, int32_t, bool) { return 2.0; };
  const Timeline timeline = SimulateSchedules({{0, 1, {sends}}, {1, 1, {receives}}}, costs);
  EXPECT_EQ(timeline.makespan, 4);
}

TEST(Timeline, UnansweredMessagesNeverEnd) {
  const Timeline timeline = SimulateSchedules(
      {{0, 1, {RunItem(Phase::kForward, 0), Send(7, 0), RunItem(Phase::kBackward, 0)}}},
      EqualCosts(false));
  EXPECT_FALSE(timeline.complete);
  EXPECT_EQ(timeline.items[0][1].start, 1);
  EXPECT_EQ(timeline.items[0][1].end, -1);
  EXPECT_EQ(timeline.items[0][2].start, -1);
}

TEST(Timeline, TwoSendsThatMeetDeadlock) {
  const Timeline timeline =
      SimulateSchedules({{0, 1, {Send(1, 0), Receive(1, 0)}}, {1, 1, {Send(0, 0), Receive(0, 0)}}},
                        EqualCosts(false));
  EXPECT_FALSE(timeline.complete);
}

// The slowest stage sets the pace: 1f1b of m microbatches takes m times it, and each other once.
TEST(Timeline, UnevenStages) {
  const auto schedules = BuildSchedules("1f1b", 3, 10);
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  ScheduleCosts costs = EqualCosts(false);
  costs.run = [](int32_t stage, Phase phase, int32_t) {
    const double unit = phase == Phase::kForward ? 1 : phase == Phase::kBackward ? 2 : 0;
    return stage == 2 ? 2 * unit : unit;
  };
  EXPECT_EQ(SimulateSchedules(*schedules, costs).makespan, 10 * 6 + 3 + 3);
}

TEST(Timeline, StepPhasesCountWhereTheyCost) {
  const auto schedules = BuildSchedules("gpipe", 1, 2);
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  ScheduleCosts costs = EqualCosts(false);
  costs.run = [](int32_t, Phase, int32_t) { return 1.0; };
  EXPECT_EQ(SimulateSchedules(*schedules, costs).makespan, 4 + 3);
}

}  // namespace
}  // namespace trireme
