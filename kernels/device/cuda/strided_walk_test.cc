// Walks visit every element of both views once, at the offsets that their strides say.
#include "kernels/device/cuda/strided_walk.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace trireme {
namespace {

alignas(16) float memory[16];

// A view at `shift` elements behind a 16-byte boundary; nothing is read.
Tensor View(std::vector<int64_t> sizes, std::vector<int64_t> strides, int shift = 0) {
  return {.data = memory + shift, .sizes = std::move(sizes), .strides = std::move(strides)};
}

void Check(const Tensor& x, const Tensor& y, int64_t expected_width) {
  const StridedWalk walk = MakeStridedWalk(x, y, 4);
  EXPECT_EQ(walk.width, expected_width);
  ASSERT_EQ(walk.count * walk.width, x.count());
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t from = 0, to = 0;
    walk.Find(i / walk.width, &from, &to);
    EXPECT_EQ(from * walk.width + i % walk.width, StridedOffset(x, i)) << i;
    EXPECT_EQ(to * walk.width + i % walk.width, StridedOffset(y, i)) << i;
  }
}

TEST(StridedWalk, DenseViewsAreOneRow) {
  const Tensor x = View({3, 4, 6}, {24, 6, 1});
  Check(x, x, 4);
  EXPECT_EQ(MakeStridedWalk(x, x, 4).rank, 1);
  Check(View({5, 3}, {3, 1}), View({5, 3}, {3, 1}), 1);
  Check(View({1}, {1}), View({1}, {1}), 1);
}

TEST(StridedWalk, PartsOfRowsGoInGroups) {
  Check(View({3, 8}, {20, 1}), View({3, 8}, {8, 1}), 4);
  Check(View({2, 3, 4}, {100, 12, 1}), View({2, 3, 4}, {12, 4, 1}), 4);
}

// Rows that are no whole groups, start between groups, or stand in memory that does.
TEST(StridedWalk, WhatCannotGoInGroupsGoesOneByOne) {
  Check(View({3, 6}, {20, 1}), View({3, 6}, {8, 1}), 1);
  Check(View({3, 8}, {21, 1}), View({3, 8}, {8, 1}), 1);
  Check(View({3, 8}, {20, 1}), View({3, 8}, {9, 1}), 1);
  Check(View({3, 8}, {20, 1}, 1), View({3, 8}, {8, 1}), 1);
  Check(View({3, 8}, {20, 1}), View({3, 8}, {8, 1}, 2), 1);
}

TEST(StridedWalk, TransposesAndRepeats) {
  Check(View({4, 8}, {1, 4}), View({4, 8}, {8, 1}), 1);
  Check(View({2, 3, 4, 5}, {1, 2, 6, 24}), View({2, 3, 4, 5}, {60, 20, 5, 1}), 1);
  Check(View({3, 8}, {0, 1}), View({3, 8}, {8, 1}), 4);
}

}  // namespace
}  // namespace trireme
