// A signal becomes a call, and the program lives on.
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <future>

#include "gtest/gtest.h"

namespace trireme {
namespace {

TEST(Interrupt, CallsTheHandlerForEachSignal) {
  std::promise<int> first, second;
  Interrupt interrupt([&](int count) { (count == 1 ? first : second).set_value(count); });
  kill(getpid(), SIGINT);
  EXPECT_EQ(first.get_future().get(), 1);
  interrupt.Raise();
  EXPECT_EQ(second.get_future().get(), 2);
  EXPECT_EQ(interrupt.count(), 2);
}

TEST(Interrupt, EndsWithoutACall) {
  bool called = false;
  { Interrupt interrupt([&](int) { called = true; }); }
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace trireme
