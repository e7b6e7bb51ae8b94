// Orders as golden text, in-flight counts in closed form, and a validator that names what is wrong.
#include "coordinator/compiler/orders/order.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

std::string ActionText(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& a : actions) {
    text += std::string(text.empty() ? "" : " ") + std::string(Name(a.phase)) + std::to_string(a.microbatch);
  }
  return text;
}

TEST(Order, GpipeAndOneFOneBText) {
  EXPECT_EQ(ActionText(*OrderActions("gpipe", {0, 2, 3})), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(ActionText(*OrderActions("1f1b", {0, 3, 4})), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(ActionText(*OrderActions("1f1b", {1, 3, 4})), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(ActionText(*OrderActions("1f1b", {2, 3, 4})), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(Order, UnknownNamesTheKnown) {
  const auto actions = OrderActions("2f2b", {});
  EXPECT_NE(actions.status().ToString().find("known: gpipe, 1f1b"), std::string::npos);
}

// 1F1B keeps min(stages - stage, microbatches) in flight, GPipe all.
TEST(Order, SlotsInClosedForm) {
  for (const int stages : {1, 2, 3, 4, 8}) {
    for (const int microbatches : {1, 2, 3, 8, 13}) {
      const auto one = BuildSchedules("1f1b", stages, microbatches);
      const auto all = BuildSchedules("gpipe", stages, microbatches);
      ASSERT_TRUE(one.ok()) << one.status();
      ASSERT_TRUE(all.ok()) << all.status();
      for (int s = 0; s < stages; ++s) {
        EXPECT_EQ((*one)[s].num_slots, std::min(stages - s, microbatches)) << stages << " " << microbatches;
        EXPECT_EQ((*all)[s].num_slots, microbatches);
      }
    }
  }
}

class Corrupted : public testing::Test {
 protected:
  void SetUp() override { schedules_ = *BuildSchedules("1f1b", 2, 3); }
  void ExpectNamed(const std::string& fault) {
    const Status status = ValidateSchedules(schedules_, 3);
    EXPECT_NE(status.ToString().find(fault), std::string::npos) << status;
  }
  std::vector<ScheduleItem>& items(int stage) { return schedules_[stage].items; }
  size_t Find(int stage, ItemKind kind, int from = 0) {
    for (size_t i = from; i < items(stage).size(); ++i) {
      if (items(stage)[i].kind == kind && (kind == ItemKind::kExchange || items(stage)[i].microbatch >= 0)) return i;
    }
    return 0;
  }
  std::vector<StepSchedule> schedules_;
};

TEST_F(Corrupted, MissingSendDeadlocks) {
  items(0)[Find(0, ItemKind::kExchange)].sends.clear();
  ExpectNamed("deadlocks");
}
TEST_F(Corrupted, MissingReceiveRunsEarly) {
  items(1)[Find(1, ItemKind::kExchange)].receives.clear();
  ExpectNamed("F0 runs before its input arrives");
}
TEST_F(Corrupted, RepeatedForwardSharesItsSlot) {
  const size_t at = Find(0, ItemKind::kRun);
  items(0).insert(items(0).begin() + at, items(0)[at]);
  ExpectNamed("takes slot 0");
}
TEST_F(Corrupted, SlotOutOfRange) {
  items(0)[Find(0, ItemKind::kRun)].slot = 9;
  ExpectNamed("slot 9");
}
TEST_F(Corrupted, DroppedBackward) {
  std::erase_if(items(1), [](const ScheduleItem& i) { return i.phase == Phase::kBackward && i.microbatch == 2; });
  ExpectNamed("runs F 1 and B 0");
}
TEST_F(Corrupted, SwappedExchangesDeadlock) {
  const size_t a = Find(1, ItemKind::kExchange);
  const size_t b = Find(1, ItemKind::kExchange, static_cast<int>(a) + 1);
  std::swap(items(1)[a].receives, items(1)[b].receives);
  EXPECT_FALSE(ValidateSchedules(schedules_, 3).ok());
}

}  // namespace
}  // namespace trireme
