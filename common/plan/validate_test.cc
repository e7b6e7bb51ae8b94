// Every way a program could address outside its arena is refused; each case breaks one field of a
// good program.
#include "common/plan/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/plan/test_program.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

StageProgram GoodProgram() {
  StageProgram program = TestProgram();
  program.pools.push_back({Pool::kInput, 8, 2});
  return program;
}

TEST(ValidateProgram, AcceptsAGoodProgram) {
  EXPECT_TRUE(ValidateProgram(GoodProgram(), TestMesh()).ok())
      << ValidateProgram(GoodProgram(), TestMesh());
}

TEST(ValidateProgram, RefusesWhatLeavesAPool) {
  struct Case {
    std::string name;
    std::function<void(StageProgram&)> breaks;
    std::string says;
  };
  auto view = [](StageProgram& p) -> View& { return p.codes[0].instructions[0].in[0]; };
  const std::vector<Case> cases = {
      {"view", [&](StageProgram& p) { view(p).sizes[1] = 40; }, "leave pool PARAM of 48"},
      {"stride", [&](StageProgram& p) { view(p).strides[0] = 1000; }, "leave pool PARAM"},
      {"negative", [&](StageProgram& p) { view(p).offset.base = -1; }, "leave pool PARAM"},
      {"last rank only", [&](StageProgram& p) { view(p).offset.terms[0].stride = 9; }, "leave"},
      {"first rank only", [&](StageProgram& p) { view(p).offset.terms[0].stride = -4; }, "leave"},
      {"overflow",
       [&](StageProgram& p) {
         view(p).sizes = {int64_t{1} << 40, int64_t{1} << 40};
       },
       "too many elements"},
      {"huge stride", [&](StageProgram& p) { view(p).strides[0] = INT64_MAX; }, "stride"},
      {"binding", [&](StageProgram& p) { view(p).binding = 2; }, "binding 2 of 2"},
      {"axis", [&](StageProgram& p) { view(p).offset.terms[0].axis = 2; }, "mesh axis 2 of 2"},
      {"place", [](StageProgram& p) { p.chunks[0].forward[0].places[1].offset = 88; },
       "leave pool SAVED"},
      {"alignment", [](StageProgram& p) { p.chunks[0].forward[0].places[1].offset = 2; },
       "multiple of 4"},
      {"absent pool", [](StageProgram& p) { p.chunks[0].forward[0].places[1].pool = Pool::kEdge; },
       "EDGE"},
      {"code", [](StageProgram& p) { p.chunks[0].forward[0].code = 1; }, "code 1 of 1"},
      {"places", [](StageProgram& p) { p.chunks[0].forward[0].places.pop_back(); },
       "1 places for 2"},
      {"workspace", [](StageProgram& p) { p.codes[0].instructions[0].workspace = 64; },
       "workspace"},
      {"group", [](StageProgram& p) { p.codes[0].instructions[1].group = 1; }, "group 1 of 1"},
      {"kind", [](StageProgram& p) { p.codes[0].instructions[1].attrs = {}; }, "kind"},
      {"gather", [](StageProgram& p) { p.codes[0].instructions[1].op = "all_gather"; },
       "do not fit a group of 2"},
      {"predicate type",
       [](StageProgram& p) { p.codes[0].instructions[2].predicate[0].dtype = DType::kFloat32; },
       "a predicate is one int32"},
      {"predicate size",
       [](StageProgram& p) {
         p.codes[0].instructions[2].predicate[0].sizes = {2};
         p.codes[0].instructions[2].predicate[0].strides = {1};
       },
       "a predicate is one int32"},
      {"predicate place",
       [](StageProgram& p) { p.codes[0].instructions[2].predicate[0].offset.base = 200; },
       "leave pool SAVED"},
      {"predicate beside others", [](StageProgram& p) { p.codes[0].instructions[2].async = true; },
       "cannot run beside"},
      {"members",
       [](StageProgram& p) {
         p.groups[0].members = {0, 2};
       },
       "members"},
      {"pool twice", [](StageProgram& p) { p.pools.push_back(p.pools[0]); }, "listed twice"},
      {"pool bytes", [](StageProgram& p) { p.pools[0].bytes = -8; }, "-8 bytes"},
      {"tensor", [](StageProgram& p) { p.tensors[0].param_offset = 4; }, "tensor w"},
      {"tensor dims", [](StageProgram& p) { p.tensors[0].dims[1].size = 0; }, "dim mlp"},
      {"state", [](StageProgram& p) { p.tensors[0].state_offsets[0] = 12; }, "tensor w state"},
      {"states", [](StageProgram& p) { p.tensors[0].state_names.clear(); }, "names"},
      {"input", [](StageProgram& p) { p.inputs[0].offset = 4; }, "input tokens"},
      {"edge", [](StageProgram& p) { p.chunks[0].edges_out[0].bytes = 88; }, "edge"},
  };
  for (const Case& c : cases) {
    StageProgram program = GoodProgram();
    c.breaks(program);
    const Status status = ValidateProgram(program, TestMesh());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says)) << c.name;
  }
}

TEST(ValidateSchedule, RefusesSlotsAndPeersThatDoNotExist) {
  const StageProgram program = GoodProgram();
  StepSchedule schedule = {.stage = 0, .num_slots = 2, .items = {{.microbatch = 3, .slot = 1}}};
  EXPECT_TRUE(ValidateSchedule(program, schedule, 1, 4).ok());
  EXPECT_FALSE(ValidateSchedule(program, schedule, 1, 3).ok());
  schedule.num_slots = 3;
  EXPECT_THAT(std::string(ValidateSchedule(program, schedule, 1, 4).message()),
              HasSubstr("needs 3 slots but pool SAVED has 2"));
  schedule.num_slots = 1;
  EXPECT_FALSE(ValidateSchedule(program, schedule, 1, 4).ok());
  schedule.items = {{.kind = ItemKind::kExchange, .sends = {{.peer_stage = 1}}}};
  EXPECT_TRUE(ValidateSchedule(program, schedule, 2, 4).ok());
  EXPECT_THAT(std::string(ValidateSchedule(program, schedule, 1, 4).message()),
              HasSubstr("peer stage 1 of 1"));
}

}  // namespace
}  // namespace trireme
