// Programs survive the wire field by field, and damaged bytes give an error or a program that is
// still in bounds.
#include "common/plan/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "common/plan/resolve.h"
#include "common/plan/test_program.h"
#include "common/plan/validate.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kOps = 0x1234;

// Every field of every struct holds something other than its default.
RankProgram FullProgram() {
  RankProgram program;
  program.op_table_hash = kOps;
  program.mesh = *Mesh::Create({{"data", 2}, {"model", 2}, {"stage", 2, Fabric::kDcn}});
  program.program = TestProgram();
  StageProgram& p = program.program;
  p.stage = 1;
  p.pools.push_back({Pool::kInput, 8, 2});
  p.pools.push_back({Pool::kScalars, 352, 1});
  p.groups.push_back({.axes = {2, 0}, .members = {1}, .fabric = Fabric::kDcn});
  p.codes[0].phase = Phase::kBackward;
  p.codes[0].instructions[0].attrs.Set("ints", std::vector<int64_t>{-1, int64_t{1} << 50});
  p.codes[0].instructions[0].attrs.Set("negative", int64_t{-7});
  const std::vector<Instance> instances = p.chunks[0].forward;
  p.chunks.resize(2);
  ChunkProgram& chunk = p.chunks[1];
  chunk = p.chunks[0];
  chunk.virtual_stage = 3;
  p.init = p.gather = chunk.backward = chunk.weight_grad = p.update1 = p.update2 = instances;
  p.init[0].layer = -1;
  p.tensors[0].dims[1].padded_size = 3;
  p.tensors[0].optimizer_sharding.partial = {{kMicrobatchAxis, ReduceKind::kMax}};
  p.tensors[0].owner_members = {0, 1};
  p.scalars = {0, 128, 320, 8, 160, {1, 3}, 1, 1, 0.01, 0.001};
  chunk.edges_in = chunk.grad_edges_in = chunk.grad_edges_out = p.outputs = chunk.edges_out;
  p.codes[0].instructions[1].async = true;
  p.codes[0].instructions[1].flops = 1e12;
  p.codes[0].instructions[0].in[0].offset.terms.push_back({1, 2, 1, 2});
  program.schedule = {
      .stage = 1,
      .num_slots = 2,
      .items = {{.kind = ItemKind::kRun, .phase = Phase::kForward, .microbatch = 1, .slot = 1},
                {.kind = ItemKind::kExchange,
                 .sends = {{0, true, 1, 1}},
                 .receives = {{0, false, 0, 1, 1, 2}}}}};
  program.schedule.items[0].chunk = 1;
  program.run = {20, 16, 4, 2, 128, 2, 7, 2048.0, {1e-3f, 2e-3f}};
  program.data_axes = {0};
  program.stage_axis = 2;
  return program;
}

TEST(Wire, RoundTripKeepsEveryField) {
  const RankProgram program = FullProgram();
  const std::string bytes = SerializeRankProgram(program);
  const StatusOr<RankProgram> read = ParseRankProgram(bytes, kOps);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->program, program.program);
  EXPECT_EQ(read->schedule, program.schedule);
  EXPECT_EQ(read->mesh.axes(), program.mesh.axes());
  EXPECT_EQ(read->run.lr_table, program.run.lr_table);
  EXPECT_EQ(read->run.expected_tokens, program.run.expected_tokens);
  EXPECT_EQ(read->run.num_microbatches, program.run.num_microbatches);
  EXPECT_EQ(read->data_axes, program.data_axes);
  EXPECT_EQ(read->stage_axis, program.stage_axis);
  EXPECT_EQ(SerializeRankProgram(*read), bytes);
}

TEST(Wire, OtherVersionsAreNamed) {
  const std::string bytes = SerializeRankProgram(FullProgram());
  const Status ops = ParseRankProgram(bytes, 0x99).status();
  EXPECT_EQ(ops.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ops.message()), HasSubstr("0000000000001234"));
  EXPECT_THAT(std::string(ops.message()), HasSubstr("0000000000000099"));
  // Field 1 comes first: tag 0x08, then the version.
  std::string other = bytes;
  ASSERT_EQ(other[0], 0x08);
  other[1] = 77;
  const Status format = ParseRankProgram(other, kOps).status();
  EXPECT_THAT(std::string(format.message()), HasSubstr("format 77"));
  EXPECT_THAT(std::string(format.message()), HasSubstr("format " + std::to_string(kProgramFormat)));
}

// Walks everything that a rank would read.
void Touch(const RankProgram& program) {
  for (int64_t rank = 0; rank < std::min<int64_t>(program.mesh.num_ranks(), 4); ++rank) {
    for (Phase phase : {Phase::kInit, Phase::kForward, Phase::kUpdate2}) {
      for (const ResolvedInstruction& i : Resolve(program.program, phase, 0, program.mesh, rank)) {
        for (const ResolvedOperand& operand : i.in) {
          const int64_t offset = ArenaOffset(program.program, operand, 0);
          EXPECT_GE(offset, 0);
          EXPECT_LT(offset, program.program.ArenaBytes());
        }
      }
    }
  }
  EXPECT_FALSE(program.program.ToText(program.mesh).empty());
}

// Flips one to four bits, or cuts the end, 20000 times.
TEST(Wire, DamagedBytesNeverCrash) {
  const std::string good = SerializeRankProgram(FullProgram());
  std::mt19937 random(5);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    if (round % 16 == 0) bytes.resize(random() % bytes.size());
    const StatusOr<RankProgram> read = ParseRankProgram(bytes, kOps);
    if (!read.ok()) {
      ++refused;
      continue;
    }
    ++accepted;
    // Huge meshes are legal but slow to walk.
    if (read->mesh.num_ranks() <= 64) Touch(*read);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace trireme
