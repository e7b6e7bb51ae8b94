// Data order is a permutation in every epoch, equal to the goldens, and the same wherever it is
// asked for.
#include "common/formats/batch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace trireme {
namespace {

TEST(FeistelPermute, EqualsTheGoldens) {
  const std::tuple<int64_t, FeistelKeys, std::vector<int64_t>> goldens[] = {
      {10, {1, 2, 3, 0, 1}, {2, 3, 0, 6, 7, 1, 5, 9, 8, 4}},
      {16, {3, 1, 2, 0, 3}, {5, 11, 13, 3, 0, 14, 8, 6, 15, 1, 7, 9, 10, 4, 2, 12}},
      {7, {1, 0, 3, 2, 1}, {0, 6, 2, 1, 5, 4, 3}},
      {20, {5, 1, 7, 2, 3}, {9, 1, 19, 13, 7, 18, 6, 0, 12, 4, 14, 11, 8, 3, 10, 17, 15, 16, 5, 2}},
  };
  for (const auto& [n, keys, want] : goldens) {
    std::vector<int64_t> got;
    for (int64_t i = 0; i < n; ++i) got.push_back(FeistelPermute(i, n, keys));
    EXPECT_EQ(got, want) << n;
  }
}

TEST(FeistelPermute, IsAPermutationOfEverySize) {
  for (int64_t n = 1; n <= 300; ++n) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < n; ++i) seen.insert(FeistelPermute(i, n, EpochKeys(n, 3)));
    EXPECT_EQ(static_cast<int64_t>(seen.size()), n);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), n - 1);
  }
}

TEST(BatchWindows, EveryEpochVisitsEachWindowOnceInItsOwnOrder) {
  const int64_t n = 12;
  const int64_t batch = 8;  // two epochs meet inside batches
  std::vector<int64_t> order;
  for (int64_t step = 0; step < 6; ++step) {
    for (const int64_t window : BatchWindows(/*seed=*/0, step, batch, n)) order.push_back(window);
  }
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    const std::vector<int64_t> one(order.begin() + epoch * n, order.begin() + (epoch + 1) * n);
    EXPECT_EQ(std::set<int64_t>(one.begin(), one.end()).size(), 12u) << epoch;
    orders.insert(one);
  }
  EXPECT_EQ(orders.size(), 4u);
  EXPECT_NE(BatchWindows(0, 0, batch, n), BatchWindows(1, 0, batch, n));
}

TEST(BatchWindows, AreTheSameSequenceBySequenceAndFarOut) {
  const std::vector<int64_t> all = BatchWindows(5, 1000000000000, 16, 1000);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(all[i], WindowAt(5, 1000000000000, i, 16, 1000));
  EXPECT_GE(WindowAt(5, 1000000000000, (1 << 24) - 1, 1 << 24, 1000), 0);
}

// Changing the order changes every resumed job: this must not happen unnoticed.
TEST(BatchWindows, NeverChange) {
  EXPECT_EQ(BatchWindows(0, 0, 8, 100), (std::vector<int64_t>{64, 83, 45, 51, 13, 31, 49, 6}));
}

TEST(NumWindows, CountsWholeWindowsWithTheirTarget) {
  EXPECT_EQ(*NumWindows(9, 8), 1);
  EXPECT_EQ(*NumWindows(16, 8), 1);
  EXPECT_EQ(*NumWindows(17, 8), 2);
  EXPECT_THAT(std::string(ToStd(NumWindows(8, 8).status().message())),
              testing::HasSubstr("8 tokens of data are fewer than the 9"));
}

// Neighbours must not stay neighbours: an order that keeps them shows as steps in the loss.
TEST(BatchWindows, ScatterNeighbours) {
  const int64_t n = 4096;
  int64_t near = 0;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t gap = WindowAt(0, 0, i, n, n) - WindowAt(0, 0, i + 1, n, n);
    if (gap > -41 && gap < 41) ++near;
  }
  // 2% in a random order; the multiplicative rounds of the source reach 5%.
  EXPECT_LT(near, n / 10);
}

}  // namespace
}  // namespace trireme
