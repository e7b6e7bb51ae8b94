// The pauses between tries. The stream itself is tested with a whole agent in agent_test.
#include "worker/agent/connection.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(BackoffMs, GrowsToALimitAndUsesAllOfTheRange) {
  EXPECT_EQ(BackoffMs(1, 0.5), 250);
  EXPECT_EQ(BackoffMs(2, 0.5), 500);
  EXPECT_EQ(BackoffMs(3, 0.0), 0);
  EXPECT_EQ(BackoffMs(100, 0.5), 15000);
  EXPECT_LT(BackoffMs(1000000, 0.999), 30000);
}

}  // namespace
}  // namespace trireme
