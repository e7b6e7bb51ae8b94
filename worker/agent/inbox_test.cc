// Order, and posting from within.
#include "worker/agent/inbox.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace trireme {
namespace {

TEST(Inbox, RunsInOrderAndWhatIsPostedMeanwhileNextTime) {
  Inbox inbox;
  std::vector<int> ran;
  inbox.Post([&] {
    ran.push_back(1);
    inbox.Post([&] { ran.push_back(3); });
  });
  inbox.Post([&] { ran.push_back(2); });
  inbox.Run(0);
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
  inbox.Run(0);
  EXPECT_EQ(ran, (std::vector<int>{1, 2, 3}));
}

TEST(Inbox, WakesUpForWorkOfAnotherThread) {
  Inbox inbox;
  bool ran = false;
  std::thread other([&] { inbox.Post([&] { ran = true; }); });
  inbox.Run(60000);
  other.join();
  EXPECT_TRUE(ran);
}

TEST(InboxThread, EndsOnlyAfterWhatWasPosted) {
  std::vector<int> ran;
  {
    InboxThread thread;
    for (int i = 0; i < 3; ++i) thread.Post([&ran, i] { ran.push_back(i); });
  }
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace trireme
