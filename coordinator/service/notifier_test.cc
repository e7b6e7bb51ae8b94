// Who is woken, and who no longer is.
#include "coordinator/service/notifier.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

struct Counter : Wakeable {
  void Wake() override { ++count; }
  int count = 0;
};

TEST(Notifier, WakesTheFollowersOfAJobUntilTheyAreRemoved) {
  Notifier notifier;
  Counter a, b;
  notifier.Add("jobs/x-1", &a);
  notifier.Add("jobs/y-2", &b);
  notifier.Wake({"jobs/x-1", "jobs/none-3"});
  EXPECT_EQ(a.count, 1);
  EXPECT_EQ(b.count, 0);
  notifier.WakeAll();
  EXPECT_EQ(b.count, 1);
  notifier.Remove("jobs/x-1", &a);
  notifier.Remove("jobs/x-1", &a);
  notifier.WakeAll();
  EXPECT_EQ(a.count, 2);
  EXPECT_EQ(b.count, 2);
}

}  // namespace
}  // namespace trireme
