// Addresses and text of programs, on a program small enough to check by eye.
#include "common/plan/program.h"

#include <gtest/gtest.h>

#include "common/plan/test_program.h"

namespace trireme {
namespace {

TEST(IndexMap, AddsOneStrideForEachAxis) {
  const IndexMap map = {.base = 5, .terms = {{0, 100}, {1, 10}}};
  EXPECT_EQ(map.Evaluate({0, 0}), 5);
  EXPECT_EQ(map.Evaluate({1, 2}), 125);
}

TEST(IndexMap, GoesAroundARing) {
  const IndexMap map = {.base = 1, .terms = {{1, 10, 3, 4}}};
  EXPECT_EQ(map.Evaluate({0, 0}), 31);
  EXPECT_EQ(map.Evaluate({7, 1}), 1);
  EXPECT_EQ(map.Evaluate({7, 3}), 21);
}

TEST(StageProgram, PoolsFollowEachOtherAtMultiplesOf64Bytes) {
  const StageProgram program = TestProgram();
  EXPECT_EQ(program.PoolOffset(Pool::kParam), 0);
  EXPECT_EQ(program.PoolBytes(Pool::kParam), 64);  // 48 bytes, rounded up
  EXPECT_EQ(program.PoolOffset(Pool::kSaved), 64);
  EXPECT_EQ(program.SlotBytes(Pool::kSaved), 128);
  EXPECT_EQ(program.PoolBytes(Pool::kSaved), 256);  // two slots
  EXPECT_EQ(program.PoolBytes(Pool::kEdge), 0);     // absent
  EXPECT_EQ(program.ArenaBytes(), 64 + 256 + 64 + 64);
}

TEST(StageProgram, TextNamesEverything) {
  const std::string text = TestProgram().ToText(TestMesh());
  EXPECT_EQ(text, R"(stage 0 on {data 2, model 2} arena 448 bytes
pool PARAM 48
pool SAVED 100 x 2 slots
pool SCRATCH 64
pool STATE 32
group g0 (model) ici
code block.F
  0: y[2,2] = scale{factor=2}(w+1+4*model[2,2]:(1,2)) workspace 0
  1: y[2,2] = all_reduce{kind=sum}(y[2,2]) over g0 of w  # y is partial over model
  2: y[2,2] += if y+2[]:int32 > 1 copy first=3+2*data(y[2,2])
F block.F layer 3: w=PARAM+0, y=SAVED+16
edge_out SAVED+16 bytes 16
tensor w [embed 4, mlp 3] PARAM+0 [embed, mlp] grad SCRATCH+0 exp_avg STATE+0 [embed/model, mlp]
input tokens [batch 4] INPUT+0 [batch/data] int32
scalars control 0 reduce 0 lr_table 0 x 0
)");
}

TEST(StepSchedule, TextIsOneWordAnItem) {
  StepSchedule schedule;
  schedule.items = {
      {.kind = ItemKind::kRun, .phase = Phase::kGather},
      {.kind = ItemKind::kRun, .phase = Phase::kForward, .microbatch = 0, .slot = 0},
      {.kind = ItemKind::kExchange, .sends = {{1, false, 0, 0}}},
      {.kind = ItemKind::kExchange, .sends = {{1, false, 1, 1}}, .receives = {{1, true, 0, 0}}},
      {.kind = ItemKind::kRun, .phase = Phase::kBackward, .microbatch = 0, .slot = 0},
      {.kind = ItemKind::kRun, .phase = Phase::kUpdate1},
      {.kind = ItemKind::kRun, .phase = Phase::kUpdate2}};
  EXPECT_EQ(schedule.ToText(), "G F0 >f0 >f1+<b0 B0 U1 U2");
  schedule.items[1].chunk = 1;
  schedule.items[4].phase = Phase::kWeightGrad;
  schedule.items[2].sends[0].chunk = 1;
  EXPECT_EQ(schedule.ToText(), "G F0b >f0b >f1+<b0 W0 U1 U2");
}

}  // namespace
}  // namespace trireme
