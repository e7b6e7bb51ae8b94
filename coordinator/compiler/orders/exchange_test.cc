// Exchanges and slots around actions: what falls into one gap is one item, a turn of a V is a copy
// inside one item, and slots are used again as soon as they may.
#include "coordinator/compiler/orders/exchange.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

constexpr Phase kF = Phase::kForward;
constexpr Phase kB = Phase::kBackward;

const ScheduleItem* FindExchange(const StepSchedule& schedule, bool gradient, int edge, int m) {
  for (const ScheduleItem& item : schedule.items) {
    for (const Transfer& t : item.receives) {
      if (t.gradient == gradient && t.edge == edge && t.microbatch == m) return &item;
    }
  }
  return nullptr;
}

TEST(Exchange, OneStageHasNone) {
  const auto schedules =
      AddExchanges({{{kF, 0}, {kB, 0}, {kF, 1}, {kB, 1}}}, {.num_microbatches = 2});
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  EXPECT_EQ((*schedules)[0].ToText(), "G F0 B0 F1 B1 U1 U2");
  EXPECT_EQ((*schedules)[0].num_slots, 1);
}

TEST(Exchange, TransfersNameTheirEnds) {
  const auto schedules = BuildSchedules("interleaved_1f1b", 2, 2);
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  const ScheduleItem* item = FindExchange((*schedules)[0], false, 1, 0);
  ASSERT_NE(item, nullptr);  // edge 1 is from chunk 0 of stage 1 to chunk 1 of stage 0
  const Transfer& t = item->receives[0];
  EXPECT_EQ(t.peer_stage, 1);
  EXPECT_EQ(t.chunk, 1);
  const ScheduleItem* back = FindExchange((*schedules)[1], true, 1, 0);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->receives.back().peer_stage, 0);
  EXPECT_EQ(back->receives.back().chunk, 0);
}

TEST(Exchange, TurnOfAVIsACopyInOneItem) {
  const auto schedules = BuildSchedules("zero_bubble_v", 2, 4);
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  for (const bool gradient : {false, true}) {
    const ScheduleItem* item = FindExchange((*schedules)[1], gradient, 1, 0);
    ASSERT_NE(item, nullptr);
    bool sent = false;
    for (const Transfer& t : item->sends)
      sent = sent || (t.peer_stage == 1 && t.edge == 1 && t.microbatch == 0);
    EXPECT_TRUE(sent);
  }
}

// Slots change chunks only between two exchanges; the validator would refuse one.
TEST(Exchange, SlotThatASendLeavesIsFilledByAnotherChunkInTheNextItem) {
  const auto schedules = BuildSchedules("interleaved_1f1b", 2, 4);
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  EXPECT_NE((*schedules)[1].ToText().find("B1b >b1b+<b0 <f2 F2"), std::string::npos)
      << (*schedules)[1].ToText();
}

}  // namespace
}  // namespace trireme
