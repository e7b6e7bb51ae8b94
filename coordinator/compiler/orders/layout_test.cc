// Placements as small tables, and inverse to each other.
#include "coordinator/compiler/orders/layout.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Layout, LoopStartsAgainAtTheFirstStage) {
  EXPECT_EQ(VirtualStage(Placement::kLoop, 0, 0, 3), 0);
  EXPECT_EQ(VirtualStage(Placement::kLoop, 2, 0, 3), 2);
  EXPECT_EQ(VirtualStage(Placement::kLoop, 0, 1, 3), 3);
  EXPECT_EQ(VirtualStage(Placement::kLoop, 1, 2, 3), 7);
}

TEST(Layout, VTurnsAtTheLastStage) {
  EXPECT_EQ(VirtualStage(Placement::kV, 2, 0, 3), 2);
  EXPECT_EQ(VirtualStage(Placement::kV, 2, 1, 3), 3);
  EXPECT_EQ(VirtualStage(Placement::kV, 0, 1, 3), 5);
}

TEST(Layout, HomeOfIsTheInverse) {
  for (const Placement placement : {Placement::kLoop, Placement::kV}) {
    for (const int stages : {1, 2, 5}) {
      for (int v = 0; v < 4 * stages; ++v) {
        const StageChunk home = HomeOf(placement, v, stages);
        EXPECT_EQ(VirtualStage(placement, home.stage, home.chunk, stages), v);
      }
    }
  }
}

}  // namespace
}  // namespace trireme
