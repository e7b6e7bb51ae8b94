// Fibers keep their stacks and registers over switches, and may be started again.
#include "kernels/testing/simt/fiber.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme::simt {
namespace {

struct Turns {
  Fiber fibers[3];
  int running = 0;
  std::vector<int> order;
};
Turns* turns = nullptr;

// Counts to 3 in a register of its own.
void CountToThree() {
  turns->fibers[turns->running].Entered();
  const int me = turns->running;
  double sum = 0.5 * me;
  for (int i = 1; i <= 3; ++i) {
    sum += i;
    turns->order.push_back(10 * me + i);
    if (i < 3) turns->fibers[me].Yield();
  }
  EXPECT_EQ(sum, 6 + 0.5 * me);
  turns->fibers[me].Yield(/*done=*/true);
}

TEST(Fiber, TakeTurnsAndStartAgain) {
  Turns own;
  turns = &own;
  for (int round = 0; round < 2; ++round) {
    own.order.clear();
    for (Fiber& fiber : own.fibers) fiber.Start(CountToThree);
    for (int i = 0; i < 3; ++i) {
      for (own.running = 0; own.running < 3; ++own.running) own.fibers[own.running].Resume();
    }
    EXPECT_EQ(own.order, (std::vector<int>{1, 11, 21, 2, 12, 22, 3, 13, 23}));
  }
}

}  // namespace
}  // namespace trireme::simt
