// Corrupted schedules: the validator names what is wrong.
#include <gtest/gtest.h>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

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
      if (items(stage)[i].kind == kind &&
          (kind == ItemKind::kExchange || items(stage)[i].microbatch >= 0))
        return i;
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
  std::erase_if(items(1), [](const ScheduleItem& i) {
    return i.phase == Phase::kBackward && i.microbatch == 2;
  });
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
