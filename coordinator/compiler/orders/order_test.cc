// Orders as golden text, and in-flight counts in closed form.
#include "coordinator/compiler/orders/order.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

std::string ActionText(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& a : actions) {
    text += std::string(text.empty() ? "" : " ") + std::string(Name(a.phase)) +
            std::to_string(a.microbatch);
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
        EXPECT_EQ((*one)[s].num_slots, std::min(stages - s, microbatches))
            << stages << " " << microbatches;
        EXPECT_EQ((*all)[s].num_slots, microbatches);
      }
    }
  }
}

}  // namespace
}  // namespace trireme
