// Corrupted schedules: the validator names the stage, the item and what is wrong, and marks the
// cell in the grid.
#include "coordinator/compiler/orders/validate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

class Corrupted : public testing::Test {
 protected:
  void Build(std::string_view order, int stages, int microbatches) {
    schedules_ = *BuildSchedules(order, stages, microbatches);
    layout_ = *OrderLayout(order, stages, microbatches);
    ASSERT_TRUE(ValidateSchedules(schedules_, layout_).ok());
  }
  void ExpectNamed(const std::string& fault, const std::string& cell, int slot_limit = 0) {
    const Status status = ValidateSchedules(schedules_, layout_, slot_limit);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_NE(status.ToString().find(fault), std::string::npos) << status;
    EXPECT_NE(status.ToString().find(cell), std::string::npos) << status;
  }
  std::vector<ScheduleItem>& items(int stage) { return schedules_[stage].items; }
  // The item whose text is `text`.
  ScheduleItem& At(int stage, const std::string& text) {
    return items(stage)[IndexOf(stage, text)];
  }
  size_t IndexOf(int stage, const std::string& text) {
    for (size_t i = 0; i < items(stage).size(); ++i) {
      if (StepSchedule{.items = {items(stage)[i]}}.ToText() == text) return i;
    }
    ADD_FAILURE() << "stage " << stage << " has no " << text << ": " << schedules_[stage].ToText();
    return 0;
  }
  std::vector<StepSchedule> schedules_;
  ScheduleLayout layout_;
};

TEST_F(Corrupted, BackwardBeforeForward) {
  Build("1f1b", 2, 3);
  std::swap(At(1, "F0"), At(1, "B0"));
  ExpectNamed("schedule of stage 1, item 2 (B0): B0 runs before its F", "[B0]");
}
TEST_F(Corrupted, WeightGradientBeforeBackward) {
  Build("zero_bubble_h1", 2, 3);
  std::swap(At(0, "B1"), At(0, "W1"));
  ExpectNamed("W1 runs before its B", "[W1]");
}
TEST_F(Corrupted, SwappedForwards) {
  Build("1f1b", 2, 3);
  std::swap(At(1, "F0"), At(1, "F1"));
  ExpectNamed("F1 runs before its input arrives", "[F1]");
}
TEST_F(Corrupted, DroppedBackward) {
  Build("1f1b", 2, 3);
  items(0).erase(items(0).begin() + static_cast<int>(IndexOf(0, "B2")));
  ExpectNamed("microbatch 2 of chunk 0 runs F 1, B 0 times", "[F2]");
}
TEST_F(Corrupted, DroppedWeightGradient) {
  Build("zero_bubble_v", 2, 4);
  items(1).erase(items(1).begin() + static_cast<int>(IndexOf(1, "W3b")));
  ExpectNamed("microbatch 3 of chunk 1 runs F 1, B 1 and W 0 times", "[B3b]");
}
TEST_F(Corrupted, RepeatedForward) {
  Build("1f1b", 2, 3);
  const ScheduleItem again = At(0, "F0");
  items(0).insert(items(0).begin() + 2, again);
  ExpectNamed("schedule of stage 0, item 2 (F0): F0 runs twice", "[F0]");
}
TEST_F(Corrupted, WrongSlot) {
  Build("1f1b", 2, 3);
  At(0, "B0").slot = 1;
  ExpectNamed("B0 has slot 1, but its microbatch is in slot 0", "[B0]");
}
TEST_F(Corrupted, SlotHeldByAnother) {
  Build("1f1b", 2, 3);
  At(0, "F1").slot = 0;
  ExpectNamed("F1 takes slot 0 while microbatch 0 of chunk 0 holds it", "[F1]");
}
TEST_F(Corrupted, SlotBeyondTheLast) {
  Build("1f1b", 2, 3);
  At(0, "F0").slot = 9;
  ExpectNamed("F0 has slot 9 of 2", "[F0]");
}
TEST_F(Corrupted, SlotsBeyondMemory) {
  Build("gpipe", 2, 4);
  ExpectNamed("stage 0, item 5 (F2): needs 4 slots but memory has room for 2", "[F2]", 2);
  EXPECT_TRUE(ValidateSchedules(schedules_, layout_, 4).ok());
}
TEST_F(Corrupted, ExchangesThatCrossDeadlock) {
  Build("zero_bubble_h1", 2, 3);
  const auto split = [&](int stage, const std::string& text, bool receive_first) {
    ScheduleItem receive = At(stage, text);
    ScheduleItem send = receive;
    receive.sends.clear();
    send.receives.clear();
    const auto at = items(stage).begin() + static_cast<int>(IndexOf(stage, text));
    *at = receive_first ? receive : send;
    items(stage).insert(at + 1, receive_first ? send : receive);
  };
  split(0, ">f1+<b0", true);
  split(1, ">b0+<f1", true);
  ExpectNamed(
      "the schedule deadlocks; stages stand at:\n  stage 0: item 4 <b0\n  stage 1: item 4 <f1",
      "[!]");
}
TEST_F(Corrupted, MessagesOfOneLinkCross) {
  Build("interleaved_1f1b", 2, 4);
  std::vector<Transfer>& sends = At(0, ">b0b+>f2+<b1b").sends;
  std::swap(sends[0], sends[1]);
  ExpectNamed("messages cross", "[!]");
}
TEST_F(Corrupted, WrongMicrobatchSent) {
  Build("1f1b", 2, 3);
  At(0, ">f1+<b0").sends[0].microbatch = 2;
  ExpectNamed("the activation of microbatch 2 of chunk 0 is sent before it is computed", "[!]");
}
TEST_F(Corrupted, WrongMicrobatchReceived) {
  Build("1f1b", 2, 3);
  At(1, ">b0+<f1").receives[0].microbatch = 7;
  ExpectNamed("receive of the activation of microbatch 7 of chunk 0 is beyond", "[!]");
}
TEST_F(Corrupted, MissingReceive) {
  Build("1f1b", 2, 3);
  At(1, "<f0").receives.clear();
  ExpectNamed("F0 runs before its input arrives", "[F0]");
}
TEST_F(Corrupted, MissingSend) {
  Build("1f1b", 2, 3);
  At(0, ">f0").sends.clear();
  ExpectNamed("microbatch 0 of chunk 0 never sends its activation", "[B0]");
}
TEST_F(Corrupted, WrongPeerOrEdge) {
  Build("zero_bubble_v", 2, 4);
  At(0, ">f0").sends[0].edge = 1;
  ExpectNamed("over edge 1 with stage 1, but that of chunk 0 is edge 0 with stage 1", "[!]");
}
TEST_F(Corrupted, SentOverMemoryThatAnotherChunkReceivesInto) {
  Build("interleaved_1f1b", 2, 4);
  const size_t at = IndexOf(1, ">b1b+<b0");
  items(1)[at].receives.push_back(items(1)[at + 1].receives[0]);
  items(1).erase(items(1).begin() + static_cast<int>(at) + 1);
  ExpectNamed("from which chunk 1 sends in the same exchange", "[!]");
}
TEST_F(Corrupted, StageWithoutSchedule) {
  Build("1f1b", 2, 3);
  schedules_.pop_back();
  EXPECT_NE(ValidateSchedules(schedules_, layout_).ToString().find("1 schedules for 2 stages"),
            std::string::npos);
}

}  // namespace
}  // namespace trireme
