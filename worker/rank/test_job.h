// A model of one number for tests of the training loop: the gradient of w is the sum of the batch's
// tokens, AdamW is replaced by w += gradient, and the loss is what the program says, so runs can be
// compared exactly.
#ifndef TRIREME_WORKER_RANK_TEST_JOB_H_
#define TRIREME_WORKER_RANK_TEST_JOB_H_

#include <string>

#include "common/base/check.h"
#include "common/formats/test_folder.h"
#include "common/formats/token_file.h"
#include "common/plan/rank_program.h"
#include "worker/executor/program_builder.h"

namespace trireme {

// `data` ranks share a global batch of 4 sequences of 8 weights. Per step: g = sum of the weights
// of the local rows (all_reduced), w += g * 0.5; reduce = {g * 2, g, 4, 0}, so loss = 2, grad_norm
// = 2, tokens = 32.
inline RankProgram CountingProgram(int64_t data, int64_t steps) {
  RankProgram program;
  program.mesh = *Mesh::Create({{"data", data}});
  program.data_axes = {0};
  program.run = {.steps = steps,
                 .global_batch_size = 4,
                 .microbatch_size = 4 / data / 2,
                 .num_microbatches = 2,
                 .sequence_length = 8,
                 .seed = 1,
                 .expected_tokens = 32,
                 .lr_table = std::vector<float>(steps, 0.5f)};
  const int64_t rows = 2 / data;
  StageProgram& p = program.program;
  const int64_t table = 160;
  p.pools = {{Pool::kParam, 4, 1},    {Pool::kState, 4, 1},
             {Pool::kGrad, 4, 1},     {Pool::kInput, rows * 8 * 4, 1},
             {Pool::kScratch, 64, 1}, {Pool::kScalars, table + steps * 4, 1}};
  p.groups = {{.axes = {0}}};
  p.inputs = {{.name = "weights",
               .dims = {{"batch", 2}, {"position", 8}},
               .sharding = {.dim_axes = {{0}, {}}},
               .dtype = DType::kFloat32}};
  p.scalars = {0, 128, table, steps};
  p.tensors = {{.name = "w",
                .dims = {{"embed", 1}},
                .param_sharding = Replicated(1),
                .optimizer_sharding = Replicated(1),
                .reduced_grad = {Pool::kGrad, 0},
                .state_offsets = {0},
                .state_names = {"exp_avg"}}};
  const DType f64 = DType::kFloat64;
  const Operand w = {{Pool::kParam, 0}, {}}, s = {{Pool::kState, 0}, {}},
                g = {{Pool::kGrad, 0}, {}};
  const Operand half = {{Pool::kScratch, 0}, {}};
  const Operand x = {{Pool::kInput, 0}, {rows, 8}};
  auto reduce = [&](int64_t i) -> Operand { return {{Pool::kScalars, 128 + 8 * i}, {}, f64}; };
  ProgramBuilder builder(program);
  const Attrs sum = {{"kind", std::string("sum")}};
  builder.Add(Phase::kInit, "fill", {{"value", 1.0}, {"dtype", std::string("float32")}}, {}, {w});
  builder.Add(Phase::kBackward, "reduce_sum", {{"keep", std::string()}}, {x}, {g}).accumulate =
      true;
  builder.Add(Phase::kUpdate1, "all_reduce", sum, {g}, {g}).group = 0;
  builder.Add(Phase::kUpdate1, "cast", {{"dtype", std::string("float64")}}, {g}, {reduce(1)});
  builder.Add(Phase::kUpdate1, "scale", {{"factor", 2.0}}, {reduce(1)}, {reduce(0)});
  builder.Add(Phase::kUpdate1, "fill", {{"value", 4.0}, {"dtype", std::string("float64")}}, {},
              {reduce(2)});
  builder.Add(Phase::kUpdate2, "step_control",
              {{"max_grad_norm", 0.0}, {"beta1", 0.9}, {"beta2", 0.95}, {"expected_weight", 32.0}},
              {{{Pool::kScalars, 0}, {16}, f64},
               {{Pool::kScalars, 128}, {4}, f64},
               {{Pool::kScalars, table}, {steps}}},
              {{{Pool::kScalars, 0}, {16}, f64}});
  builder.Add(Phase::kUpdate2, "scale", {{"factor", 0.5}}, {g}, {half});
  builder.Add(Phase::kUpdate2, "accumulate", {}, {half}, {w}).accumulate = true;
  builder.Add(Phase::kUpdate2, "accumulate", {}, {g}, {s}).accumulate = true;
  for (int m : {0, 1}) {
    builder.Run(Phase::kForward, m, 0);
    builder.Run(Phase::kBackward, m, 0);
  }
  builder.Run(Phase::kUpdate1);
  builder.Run(Phase::kUpdate2);
  return program;
}

// The text of the job, and its tokens: ranks that are threads of one process would build them under
// one name.
inline void WriteText(const TestFolder& folder) {
  folder.Write("text", std::string(1000, 'a'));
  const auto tokenizer = MakeTokenizer("bytes");
  CHECK_OK(tokenizer.status());
  CHECK_OK(TokenFile::OpenText(folder.File("text"), **tokenizer).status());
}

}  // namespace trireme

#endif  // TRIREME_WORKER_RANK_TEST_JOB_H_
