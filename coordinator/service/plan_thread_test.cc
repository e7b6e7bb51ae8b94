// Order, the limit, and that nothing accepted is forgotten.
#include "coordinator/service/plan_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace trireme {
namespace {

TEST(PlanThread, RunsEverythingItAcceptedInOrder) {
  std::vector<int> ran;
  {
    PlanThread thread(2);
    std::promise<void> entered, go;
    ASSERT_TRUE(thread.TryRun([&] {
      entered.set_value();
      go.get_future().wait();
      ran.push_back(0);
    }));
    entered.get_future().wait();
    EXPECT_TRUE(thread.TryRun([&] { ran.push_back(1); }));
    EXPECT_TRUE(thread.TryRun([&] { ran.push_back(2); }));
    EXPECT_FALSE(thread.TryRun([&] { ran.push_back(3); }));
    go.set_value();
  }
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace trireme
