// The zig-zag order visits every position once and gives every shard the same causal work.
#include "common/plan/position_order.h"

#include <gtest/gtest.h>

#include <set>

namespace trireme {
namespace {

TEST(PositionOrder, IsAPermutationWithEqualCausalWork) {
  EXPECT_EQ(PositionAt(5, 8, 1), 5);
  for (const int64_t shards : {2, 3, 4}) {
    const int64_t length = 4 * shards;
    std::set<int64_t> seen;
    std::set<int64_t> work;
    for (int64_t shard = 0; shard < shards; ++shard) {
      int64_t sum = 0;
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t position = PositionAt(shard * 4 + i, length, shards);
        seen.insert(position);
        sum += position + 1;  // keys it sees
      }
      work.insert(sum);
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), length);
    EXPECT_EQ(*seen.rbegin(), length - 1);
    EXPECT_EQ(work.size(), 1u) << shards << " shards";
  }
}

TEST(PositionOrder, OfTwoShards) {
  const int64_t expected[] = {0, 1, 6, 7, 2, 3, 4, 5};
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(PositionAt(i, 8, 2), expected[i]);
}

}  // namespace
}  // namespace trireme
