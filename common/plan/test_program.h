// A hand-made program with one of everything, for the tests of this folder.
#ifndef TRIREME_COMMON_PLAN_TEST_PROGRAM_H_
#define TRIREME_COMMON_PLAN_TEST_PROGRAM_H_

#include "common/plan/program.h"

namespace trireme {

inline Mesh TestMesh() { return *Mesh::Create({{"data", 2}, {"model", 2}}); }

inline StageProgram TestProgram() {
  StageProgram program;
  program.pools = {{Pool::kParam, 48, 1},
                   {Pool::kSaved, 100, 2},
                   {Pool::kScratch, 64, 1},
                   {Pool::kState, 32, 1}};
  program.groups = {{.axes = {1}}};
  const View y = {.binding = 1, .sizes = {2, 2}, .strides = {2, 1}};
  const View w = {
      .binding = 0, .offset = {.base = 1, .terms = {{1, 4}}}, .sizes = {2, 2}, .strides = {1, 2}};
  SegmentCode code;
  code.name = "block.F";
  code.bindings = {"w", "y"};
  code.instructions = {
      {.op = "scale", .attrs = {{"factor", 2.0}}, .in = {w}, .out = {y}, .workspace = 0},
      {.op = "all_reduce",
       .attrs = {{"kind", std::string("sum")}},
       .in = {y},
       .out = {y},
       .group = 0,
       .tensor = "w",
       .reason = "y is partial over model"},
      {.op = "copy",
       .index_attrs = {{"first", {.base = 3, .terms = {{0, 2}}}}},
       .in = {y},
       .out = {y},
       .accumulate = true,
       .predicate = {{.binding = 1, .offset = {.base = 2}, .dtype = DType::kInt32}},
       .above = 1}};
  program.codes = {code};
  program.chunks[0].forward = {
      {.code = 0, .layer = 3, .places = {{Pool::kParam, 0}, {Pool::kSaved, 16}}}};
  program.tensors = {{.name = "w",
                      .dims = {{"embed", 4}, {"mlp", 3}},
                      .param_sharding = Replicated(2),
                      .optimizer_sharding = {.dim_axes = {{1}, {}}},
                      .param_offset = 0,
                      .reduced_grad = {Pool::kScratch, 0},
                      .state_offsets = {0},
                      .state_names = {"exp_avg"}}};
  program.inputs = {{.name = "tokens",
                     .dims = {{"batch", 4}},
                     .sharding = {.dim_axes = {{0}}},
                     .dtype = DType::kInt32,
                     .offset = 0}};
  program.chunks[0].edges_out = {{{Pool::kSaved, 16}, 16}};
  return program;
}

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_TEST_PROGRAM_H_
