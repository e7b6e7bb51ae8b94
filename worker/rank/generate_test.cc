// Generation over a bigram model small enough to know its answers: logits of a token are a row of a
// table, so the likeliest next token of t is t + 1.
#include "worker/rank/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/formats/test_folder.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/executor/program_builder.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocab = 256, kRows = 1, kPositions = 4;

// logits[batch, position, vocab] = table[token]. The table is a parameter "table" [vocab, next].
RankProgram BigramProgram() {
  RankProgram program;
  StageProgram& p = program.program;
  p.pools = {{Pool::kParam, kVocab * kVocab * 4, 1},
             {Pool::kInput, 3 * 64, 1},
             {Pool::kSaved, kRows * kPositions * kVocab * 4, 1}};
  p.tensors = {{.name = "table",
                .dims = {{"vocab", kVocab}, {"embed", kVocab}},
                .param_sharding = Replicated(2)}};
  int64_t offset = 0;
  for (const char* name : {"tokens", "positions", "segments"}) {
    p.inputs.push_back({.name = name,
                        .dims = {{"batch", kRows}, {"position", kPositions}},
                        .sharding = Replicated(2),
                        .offset = offset});
    offset += 64;
  }
  p.outputs = {{{Pool::kSaved, 0}, kRows * kPositions * kVocab * 4}};
  ProgramBuilder builder(program);
  builder.Add(Phase::kForward, "embed_lookup", {},
              {{{Pool::kParam, 0}, {kVocab, kVocab}},
               {{Pool::kInput, 0}, {kRows, kPositions}, DType::kInt32}},
              {{{Pool::kSaved, 0}, {kRows, kPositions, kVocab}}});
  return program;
}

// Saves a checkpoint whose table prefers t + 1 after t.
std::string SaveTable(const TestFolder& folder, const RankProgram& program) {
  const auto device = MakeCpuDevice(1);
  const auto executor = Executor::Create(program, 0, nullptr, *device);
  std::vector<float> table(kVocab * kVocab, 0.0f);
  for (int64_t t = 0; t < kVocab; ++t) table[t * kVocab + (t + 1) % kVocab] = 30.0f;
  (*executor)->Write({Pool::kParam, 0}, 0, table.data(), table.size() * 4);
  const auto saved = SaveCheckpoint(**executor, {.path = folder.path(), .job = "t", .step = 1});
  EXPECT_TRUE(saved.ok()) << saved.status();
  EXPECT_TRUE(CommitCheckpoint({.folder = saved->folder, .num_ranks = 1, .step = 1}).ok());
  return saved->folder;
}

StatusOr<std::string> Continue(const GenerateOptions& options, const RankProgram& program) {
  std::string text;
  RETURN_IF_ERROR(Generate(options, program, [&](const std::string& piece) -> Status {
    text += piece;
    return absl::OkStatus();
  }));
  return text;
}

TEST(Generate, ContinuesBeyondTheSequenceLength) {
  const TestFolder folder;
  const RankProgram program = BigramProgram();
  GenerateOptions options = {.checkpoint = SaveTable(folder, program),
                             .prompt = "xyabc",
                             .max_new_tokens = 6,
                             .temperature = 0};
  EXPECT_EQ(*Continue(options, program), "defghi");
  options.prompt = "A";  // shorter than the window
  EXPECT_EQ(*Continue(options, program), "BCDEFG");
  options.temperature = 1;  // 30 against 0: the same with near certainty, and the same each time
  EXPECT_EQ(*Continue(options, program), "BCDEFG");
}

TEST(Generate, ErrorsNameTheCause) {
  const TestFolder folder;
  RankProgram program = BigramProgram();
  GenerateOptions options = {.checkpoint = SaveTable(folder, program), .max_new_tokens = 1};
  EXPECT_THAT(std::string(Continue(options, program).status().message()), HasSubstr("empty"));
  options.prompt = "a";
  options.temperature = -1;
  EXPECT_THAT(std::string(Continue(options, program).status().message()), HasSubstr("temperature"));
  options.temperature = 0;
  options.checkpoint = folder.File("nowhere");
  EXPECT_THAT(std::string(Continue(options, program).status().message()), HasSubstr("nowhere"));
  program.program.outputs.clear();
  EXPECT_THAT(std::string(Continue(options, program).status().message()), HasSubstr("0 outputs"));
}

TEST(SampleToken, FollowsTheDistribution) {
  const std::vector<float> logits = {0.0f, std::log(3.0f), -1e30f};
  EXPECT_EQ(SampleToken(logits, 0, 0.9), 1);
  EXPECT_EQ(SampleToken(logits, 1, 0.24), 0);  // a quarter of the mass
  EXPECT_EQ(SampleToken(logits, 1, 0.26), 1);
  EXPECT_EQ(SampleToken(logits, 1, 0.999999), 1);
}

TEST(RunGenerate, RefusesWhatIsNoRequest) {
  const TestFolder folder;
  EXPECT_EQ(RunGenerate(folder.File("absent")), 1);
  folder.Write("bad", "\xff\xff not a request");
  EXPECT_EQ(RunGenerate(folder.File("bad")), 1);
}

}  // namespace
}  // namespace trireme
