// Order, waiting, and what happens after an error.
#include "worker/executor/comm_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace trireme {
namespace {

TEST(CommThread, RunsInOrderAndWaits) {
  CommThread thread;
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    thread.Post([&order, i] {
      order.push_back(i);
      return absl::OkStatus();
    });
  }
  EXPECT_EQ(thread.posted(), 5);
  EXPECT_TRUE(thread.WaitForAll().ok());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(thread.WaitFor(2).ok());
}

TEST(CommThread, RunsBesideTheCaller) {
  CommThread thread;
  std::atomic<bool> go{false};
  thread.Post([&go] {
    while (!go.load()) std::this_thread::yield();
    return absl::OkStatus();
  });
  go.store(true);  // reached although the job has not ended
  EXPECT_TRUE(thread.WaitForAll().ok());
}

TEST(CommThread, TheFirstErrorStaysAndEndsTheRest) {
  CommThread thread;
  bool ran = false;
  thread.Post([] { return Unavailable("gone"); });
  thread.Post([&ran] {
    ran = true;
    return Internal("later");
  });
  EXPECT_EQ(thread.WaitForAll().message(), "gone");
  EXPECT_FALSE(ran);
  EXPECT_EQ(thread.WaitFor(1).message(), "gone");
}

}  // namespace
}  // namespace trireme
