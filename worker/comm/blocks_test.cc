// Blocks cover the tensor once; the order of a block ends with its own member.
#include "worker/comm/blocks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;

TEST(BlockOf, CoversEveryElementOnceInNearEqualBlocks) {
  for (const int64_t count : {0, 1, 6, 7, 100}) {
    for (const int64_t parts : {1, 2, 3, 7}) {
      int64_t end = 0;
      for (int64_t i = 0; i < parts; ++i) {
        const Block block = BlockOf(count, parts, i);
        EXPECT_EQ(block.begin, end);
        EXPECT_GE(block.count, count / parts);
        EXPECT_LE(block.count, count / parts + 1);
        end += block.count;
      }
      EXPECT_EQ(end, count);
    }
  }
}

TEST(RingOrder, StartsBehindTheBlockAndEndsWithIt) {
  EXPECT_THAT(RingOrder({4, 5, 6}, 0), ElementsAre(5, 6, 4));
  EXPECT_THAT(RingOrder({4, 5, 6}, 1), ElementsAre(6, 4, 5));
  EXPECT_THAT(RingOrder({4, 5, 6}, 2), ElementsAre(4, 5, 6));
  EXPECT_THAT(RingOrder({9}, 0), ElementsAre(9));
}

}  // namespace
}  // namespace trireme
