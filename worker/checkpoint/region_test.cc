// The regions of all ranks cover a padded tensor, and cutting padding undoes adding it.
#include "worker/checkpoint/region.h"

#include <gtest/gtest.h>

#include <set>

#include "common/base/math.h"

namespace trireme {
namespace {

// 5 x 3, padded to 8 x 4, over 4 x 2 ranks: some ranks hold only padding.
TEST(Region, CoversEveryLogicalElementOnce) {
  const Mesh mesh = *Mesh::Create({{"data", 4}, {"model", 2}});
  const std::vector<Dim> dims = {{"vocab", 5, 8}, {"embed", 3, 4}};
  const Sharding sharding = {.dim_axes = {{0}, {1}}};
  std::set<std::pair<int64_t, int64_t>> seen;
  int empty = 0;
  for (int64_t rank = 0; rank < mesh.num_ranks(); ++rank) {
    const Region region = RegionOf(mesh, dims, sharding, rank);
    EXPECT_EQ(region.local, (std::vector<int64_t>{2, 2}));
    empty += region.empty();
    for (int64_t i = 0; i < region.size[0]; ++i) {
      for (int64_t j = 0; j < region.size[1]; ++j) {
        EXPECT_TRUE(seen.insert({region.start[0] + i, region.start[1] + j}).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), 15u);
  EXPECT_EQ(empty, 2);
}

TEST(Region, CutPaddingUndoesAddPadding) {
  const Region region = {.start = {0, 0, 0}, .local = {2, 3, 4}, .size = {2, 1, 3}};
  const std::vector<float> real = {1, 2, 3, 4, 5, 6};
  const std::vector<float> local = AddPadding(region, real);
  EXPECT_EQ(local, (std::vector<float>{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                       4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(CutPadding(region, local), real);
  const Region scalar;
  EXPECT_EQ(CutPadding(scalar, {7}), std::vector<float>{7});
}

}  // namespace
}  // namespace trireme
