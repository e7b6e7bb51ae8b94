// Checks the byte formulas, that the search returns single collectives in the cheapest order, and
// its limits.
#include "common/sharding/reshard_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/check.h"

namespace trireme {
namespace {

using testing::ElementsAre;

Mesh MeshOfTwos(int num_axes, int num_dcn) {
  std::vector<MeshAxis> axes;
  for (int i = 0; i < num_axes; ++i) {
    axes.push_back({"a" + std::to_string(i), 2, i < num_dcn ? Fabric::kDcn : Fabric::kIci});
  }
  auto mesh = Mesh::Create(axes);
  CHECK_OK(mesh.status());
  return *mesh;
}

TEST(ReshardBytes, AreWhatARankSends) {
  EXPECT_EQ(ReshardBytes(ReshardKind::kSlice, 96, 4), 0);
  EXPECT_EQ(ReshardBytes(ReshardKind::kAllGather, 96, 4), 288);  // 3/4 of the 384 gathered
  EXPECT_EQ(ReshardBytes(ReshardKind::kReduceScatter, 96, 4), 72);
  EXPECT_EQ(ReshardBytes(ReshardKind::kAllToAll, 96, 4), 72);
  EXPECT_EQ(ReshardBytes(ReshardKind::kAllReduce, 96, 4), 144);
  EXPECT_EQ(ReshardBytes(ReshardKind::kAllReduce, 4, 3), 6);  // 16/3, rounded up
}

// Wanted: axis 0 (DCN) before axis 1 (ICI) on dim 0. The DCN step is dear, so the sum over ICI goes
// first, through the other dim, although that takes one step more.
TEST(SearchReshard, PaysAnExtraIciStepToSendLessOverDcn) {
  ReshardProblem problem;
  problem.sizes = {8, 8};
  problem.from = {{{}, {}}, {{0, ReduceKind::kSum}, {1, ReduceKind::kSum}}};
  problem.to = {{{0, 1}, {}}, {}};
  auto actions = SearchReshard(MeshOfTwos(2, /*num_dcn=*/1), problem);
  ASSERT_TRUE(actions.ok());
  ASSERT_EQ(actions->size(), 3u);
  EXPECT_EQ((*actions)[0].kind, ReshardKind::kReduceScatter);
  EXPECT_THAT((*actions)[0].axes, ElementsAre(1));
  EXPECT_EQ((*actions)[0].dim, 1);
  EXPECT_EQ((*actions)[1].kind, ReshardKind::kReduceScatter);
  EXPECT_THAT((*actions)[1].axes, ElementsAre(0));
  EXPECT_EQ((*actions)[2].kind, ReshardKind::kAllToAll);
  EXPECT_EQ((*actions)[2].to_dim, 0);
}

TEST(SearchReshard, SharedFrontAxesNeverMove) {
  ReshardProblem problem;
  problem.sizes = {16};
  problem.from = {{{0, 1, 2}}, {}};
  problem.to = {{{0, 2, 1}}, {}};
  auto actions = SearchReshard(MeshOfTwos(3, /*num_dcn=*/1), problem);
  ASSERT_TRUE(actions.ok());
  for (const ReshardAction& action : *actions) {
    for (int axis : action.axes) EXPECT_NE(axis, 0);
  }
}

TEST(SearchReshard, RefusesNineMovingAxes) {
  ReshardProblem problem;
  problem.sizes = {512};
  problem.from = Replicated(1);
  problem.to = Replicated(1);
  for (int axis = 0; axis < 9; ++axis) problem.to.dim_axes[0].push_back(axis);
  auto actions = SearchReshard(MeshOfTwos(9, /*num_dcn=*/0), problem);
  EXPECT_EQ(actions.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(actions.status().ToString(), testing::HasSubstr("moves 9 mesh axes"));
  problem.to.dim_axes[0].pop_back();
  EXPECT_TRUE(SearchReshard(MeshOfTwos(9, /*num_dcn=*/0), problem).ok());
}

}  // namespace
}  // namespace trireme
