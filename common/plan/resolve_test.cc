// One rank's view of a program: addresses, attributes and groups follow from its coordinates.
#include "common/plan/resolve.h"

#include <gtest/gtest.h>

#include "common/plan/test_program.h"

namespace trireme {
namespace {

// Rank 3 of {data 2, model 2} has coordinates (1, 1).
TEST(Resolve, EvaluatesIndexMapsAtTheRanksCoordinates) {
  const StageProgram program = TestProgram();
  const std::vector<ResolvedInstruction> code =
      Resolve(program, Phase::kForward, 0, TestMesh(), /*rank=*/3);
  ASSERT_EQ(code.size(), 3u);
  EXPECT_EQ(code[0].in[0].pool, Pool::kParam);
  EXPECT_EQ(code[0].in[0].byte_offset, (1 + 4) * 4);
  EXPECT_EQ(code[0].out[0].byte_offset, 16);
  EXPECT_EQ(code[1].group, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(code[2].attrs.GetInt("first"), 5);
  EXPECT_EQ(code[2].source, &program.codes[0].instructions[2]);
  EXPECT_TRUE(Resolve(program, Phase::kBackward, 0, TestMesh(), 3).empty());
}

TEST(ArenaOffset, SlotsAreApartBySlotBytes) {
  const StageProgram program = TestProgram();
  const Place saved = {Pool::kSaved, 16};
  EXPECT_EQ(ArenaOffset(program, saved, 0), 64 + 16);
  EXPECT_EQ(ArenaOffset(program, saved, 1), 64 + 128 + 16);
  EXPECT_EQ(ArenaOffset(program, Place{Pool::kParam, 8}, 1), 8);  // not slotted
}

TEST(GroupRanksOf, MembersRestrictTheFirstAxis) {
  const Mesh mesh = *Mesh::Create({{"stage", 4}, {"data", 2}});
  EXPECT_EQ(GroupRanksOf({.axes = {0}, .members = {0, 3}}, mesh, 1), (std::vector<int32_t>{1, 7}));
  EXPECT_EQ(GroupRanksOf({.axes = {0, 1}, .members = {0, 3}}, mesh, 7),
            (std::vector<int32_t>{0, 1, 6, 7}));
  EXPECT_EQ(GroupRanksOf({.axes = {1}}, mesh, 5), (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(GroupSize({.axes = {0, 1}, .members = {0, 3}}, mesh), 4);
  EXPECT_EQ(GroupSize({.axes = {0, 1}}, mesh), 8);
}

}  // namespace
}  // namespace trireme
