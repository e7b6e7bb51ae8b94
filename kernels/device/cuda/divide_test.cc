// Quotients and remainders against the CPU's own division.
#include "kernels/device/cuda/divide.h"

#include <gtest/gtest.h>

#include <limits>

namespace trireme {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

void Check(int64_t n, int64_t divisor) {
  const DividedBy result = Divider(divisor).Divide(n);
  EXPECT_EQ(result.quotient, n / divisor) << n << " / " << divisor;
  EXPECT_EQ(result.remainder, n % divisor) << n << " % " << divisor;
}

TEST(Divider, DividesAsTheCpuDoes) {
  for (int64_t divisor = 1; divisor <= 70; ++divisor) {
    for (int64_t n = 0; n <= 300; ++n) Check(n, divisor);
  }
}

// Around multiples, where a factor that is off by one shows.
TEST(Divider, DividesLargeNumbers) {
  for (const int64_t divisor : {int64_t{1}, int64_t{3}, int64_t{7}, int64_t{641}, int64_t{65535},
                                int64_t{4294967297}, kMost / 2, kMost / 2 + 1, kMost}) {
    for (const int64_t multiple : {int64_t{1}, kMost / divisor / 2, kMost / divisor}) {
      const int64_t n = multiple * divisor;
      Check(n, divisor);
      Check(n - 1 < 0 ? 0 : n - 1, divisor);
      if (n < kMost) Check(n + 1, divisor);
    }
  }
}

TEST(DividerDeathTest, RefusesZero) { EXPECT_DEATH(Divider(0), "divisor"); }

}  // namespace
}  // namespace trireme
