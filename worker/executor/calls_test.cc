// Calls carry the rank's addresses and groups; a group has the same number on all its members.
#include "worker/executor/calls.h"

#include <gtest/gtest.h>

#include "worker/executor/program_builder.h"

namespace trireme {
namespace {

RankProgram TwoAxisProgram() {
  RankProgram program;
  program.mesh = *Mesh::Create({{"stage", 2}, {"data", 2}});
  program.stage_axis = 0;
  program.program.pools = {{Pool::kParam, 64, 1}, {Pool::kEdge, 64, 2}};
  program.program.groups = {{.axes = {1}}, {.axes = {0, 1}}};
  const Operand w = {{Pool::kParam, 16}, {4}};
  ProgramBuilder builder(program);
  Instruction& sum =
      builder.Add(Phase::kUpdate1, "all_reduce", {{"kind", std::string("max")}}, {w}, {w});
  sum.group = 0;
  sum.tensor = "layers.{layer}.w";
  builder.Add(Phase::kUpdate1, "rename", {{"dims", std::string()}}, {w}, {w});
  builder.Add(Phase::kUpdate1, "scale", {{"factor", 2.0}}, {w}, {w}).index_attrs = {
      {"first", {.base = 1, .terms = {{1, 10}}}}};
  program.program.update1[0].layer = 7;
  program.program.chunks[0].edges_out = {{{Pool::kEdge, 0}, 32}, {{Pool::kEdge, 32}, 8}};
  return program;
}

TEST(BuildCalls, BindsAddressesGroupsAndNames) {
  const RankProgram program = TwoAxisProgram();
  std::vector<char> arena(program.program.ArenaBytes());
  const auto rank2 = BuildCalls(program, Phase::kUpdate1, 0, 0, 2, arena.data());
  const auto rank3 = BuildCalls(program, Phase::kUpdate1, 0, 0, 3, arena.data());
  ASSERT_TRUE(rank2.ok() && rank3.ok());
  ASSERT_EQ(rank2->size(), 2u);  // the view makes no call
  const Call& reduce = (*rank2)[0];
  EXPECT_EQ(reduce.kind, CallKind::kAllReduce);
  EXPECT_EQ(reduce.reduce, ReduceKind::kMax);
  EXPECT_EQ(reduce.group.ranks, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(reduce.group.id, (*rank3)[0].group.id);
  EXPECT_EQ(reduce.in[0].data, arena.data() + 16);
  EXPECT_EQ(ToText(reduce), "code.U1 layer 7 #0 all_reduce of layers.7.w");
  EXPECT_EQ((*rank3)[1].attrs.GetInt("first"), 11);
  EXPECT_NE((*rank3)[1].kernel, nullptr);
}

TEST(BuildExchange, SendsEachEdgeToTheSameCoordinatesOnThePeerStage) {
  const RankProgram program = TwoAxisProgram();
  std::vector<char> arena(program.program.ArenaBytes());
  const ScheduleItem item = {.kind = ItemKind::kExchange, .sends = {{1, false, 5, 1, 0, 3}}};
  const ExchangeCall call = BuildExchange(program, item, /*rank=*/1, arena.data());
  ASSERT_EQ(call.sends.size(), 2u);
  EXPECT_TRUE(call.receives.empty());
  EXPECT_EQ(call.sends[0].peer, 3);
  EXPECT_EQ(call.sends[0].tag, (5 << 12 | 3) * 2) << "microbatch, edge, no gradient";
  EXPECT_EQ(call.sends[0].bytes, 32);
  EXPECT_EQ(call.sends[0].data, arena.data() + 64 + 64);  // after PARAM, second slot
  EXPECT_EQ(call.sends[1].data, arena.data() + 64 + 64 + 32);
}

}  // namespace
}  // namespace trireme
