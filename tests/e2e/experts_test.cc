// Jobs with experts as users meet them: checkpoints carry what no gradient moves, text comes out of
// them, and what found no room at an expert is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/formats/checkpoint_reader.h"
#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> RunWords(const std::string& job, int devices,
                                  const std::vector<std::string>& sets) {
  std::vector<std::string> words = {
      "run", job, "-o", "json", "--hosts", "1", "--devices-per-host", std::to_string(devices)};
  for (const std::string& set : sets) {
    words.push_back("--set");
    words.push_back(set);
  }
  return words;
}

struct Kept {
  std::string name;
  std::string job;
  std::string dispatch;
  std::string other_mesh;
  std::string bias;       // the router's, that no gradient moves; "": it has none
  std::string other_set;  // another number of experts
  std::string differs;    // what generation says to it
};

void PrintTo(const Kept& kept, std::ostream* out) { *out << kept.name; }

class ExpertCheckpoints : public testing::TestWithParam<Kept> {};

void ExpectEqual(const std::vector<StepLineJson>& whole, const std::vector<StepLineJson>& later,
                 double tolerance) {
  ASSERT_EQ(whole.size(), 6u);
  ASSERT_EQ(later.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(later[i].step, whole[i + 3].step);
    EXPECT_NEAR(later[i].loss, whole[i + 3].loss, tolerance * whole[i + 3].loss);
    EXPECT_NEAR(later[i].grad_norm, whole[i + 3].grad_norm, 100 * tolerance);
  }
}

// The router's bias in it is there once, has no optimizer state, and is not what it began as.
void ExpectBias(const std::string& folder, const std::string& name) {
  const auto manifest = ReadManifest(folder);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_NE(manifest->Find(name), nullptr) << name;
  EXPECT_EQ(manifest->Find(name)->pieces.size(), 1u);
  EXPECT_EQ(manifest->Find(name + "#exp_avg"), nullptr);
  const std::vector<float> bias = ReadTensor(folder, name);
  EXPECT_EQ(bias.size(), 8u);
  EXPECT_TRUE(std::any_of(bias.begin(), bias.end(), [](float b) { return b != 0; }));
}

// Saved at step 3 on two ranks that share the experts; goes on there to the last bit, elsewhere to
// 1e-5. Text comes out of it on one rank.
TEST_P(ExpertCheckpoints, ResumeAndGenerate) {
  const Kept& kept = GetParam();
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", kept.job);
  const std::string dispatch = "moe.dispatch=" + kept.dispatch;
  const std::string load = "checkpoint.load=whole/step-0000003";
  const std::string mesh = "mesh.axes={data: 1, expert: 2}";
  const CliResult whole =
      folder.Run(RunWords(job, 2, {mesh, dispatch, "checkpoint.path=whole", "checkpoint.every=3"}));
  ASSERT_EQ(whole.code, 0) << whole.err;
  const CliResult rest =
      folder.Run(RunWords(job, 2, {mesh, dispatch, "checkpoint.path=rest", load}));
  ASSERT_EQ(rest.code, 0) << rest.err;
  ExpectEqual(Steps(whole.out), Steps(rest.out), 0);
  const CliResult moved = folder.Run(RunWords(job, 2, {"mesh.axes=" + kept.other_mesh, load}));
  ASSERT_EQ(moved.code, 0) << moved.err;
  ExpectEqual(Steps(whole.out), Steps(moved.out), 1e-5);

  const std::string last = folder.path() + "/whole/step-0000006";
  const auto manifest = ReadManifest(last);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_GT(manifest->tensors.size(), 60u);
  for (const ManifestTensor& tensor : manifest->tensors) {
    EXPECT_EQ(ReadTensor(last, tensor.name),
              ReadTensor(folder.path() + "/rest/step-0000006", tensor.name))
        << tensor.name;
  }
  if (!kept.bias.empty()) ExpectBias(folder.path() + "/whole/step-0000003", kept.bias);

  const std::vector<std::string> generate = {"generate", "--checkpoint", "whole", "--prompt",
                                             "the sea",  "--max-tokens", "30",    "--temperature",
                                             "0"};  // more than fits in 32 positions
  const CliResult text = folder.Run(generate);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, testing::StartsWith("the sea"));
  EXPECT_EQ(text.out.size(), std::string("the sea").size() + 30 + 1);  // a byte a token
  std::vector<std::string> other = generate;
  other.insert(other.end(), {"--job", job, "--set", kept.other_set});
  const CliResult refused = folder.Run(other);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(kept.differs));
  EXPECT_EQ(folder.LeftProcesses(), "");
}

std::string Qwen3Job() {
  std::string job = MixtralJob();
  const auto replace = [&](const std::string& from, const std::string& to) {
    job.replace(job.find(from), from.size(), to);
  };
  replace("type: mixtral", "type: qwen3_moe");
  replace("intermediate_size: 64, ", "moe_intermediate_size: 24, ");
  replace("num_local_experts: 4", "num_experts: 8");
  return job;
}

const Kept kKept[] = {
    {"Mixtral", MixtralJob(), "all_to_all", "{data: 2}", "", "model.num_local_experts=2",
     "tensor 'model.layers.0.block_sparse_moe.gate.weight' has shape (32,4) in the checkpoint but "
     "(32,2) in the model"},
    {"Qwen3", Qwen3Job(), "ring", "{data: 1, stage: 2}", "", "model.num_experts=4",
     "tensor 'model.layers.0.mlp.gate.weight' has shape (32,8) in the checkpoint but (32,4) in the "
     "model"},
    {"Grug", GrugJob(), "ring", "{data: 2}", "model.layers.0.mlp.router.bias",
     "model.num_experts=4",
     "tensor 'model.layers.0.mlp.router.weight' has shape (32,8) in the checkpoint but (32,4) in "
     "the model"},
    {"Deepseek", DeepseekJob(), "all_to_all", "{data: 1, stage: 2}",
     "model.layers.1.mlp.gate.e_score_correction_bias", "model.n_routed_experts=4",
     "tensor 'model.layers.1.mlp.gate.weight' has shape (32,8) in the checkpoint but (32,4) in the "
     "model"},
};

INSTANTIATE_TEST_SUITE_P(Types, ExpertCheckpoints, testing::ValuesIn(kKept),
                         [](const auto& info) { return info.param.name; });

struct Room {
  std::string name;
  std::string dispatch;
  int ranks;
  double factor;
};

void PrintTo(const Room& room, std::ostream* out) { *out << room.name; }

class ExpertCapacity : public testing::TestWithParam<Room> {};

std::vector<nlohmann::json> RouterLines(const std::string& json_lines) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(json_lines);
  for (std::string line; std::getline(stream, line);) {
    auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("moe/valid_assignments")) lines.push_back(json);
  }
  return lines;
}

constexpr int64_t kAssignments = 2 * 8 * 32 * 2;  // blocks, sequences, tokens, choices

// With room for `factor` times the even share no more than that is kept, and training goes on. Who
// drops is who knows: the sender of an all-to-all, the receiver of a ring.
TEST_P(ExpertCapacity, DropsAreCountedWhereTheyHappen) {
  const auto& [name, dispatch, ranks, factor] = GetParam();
  const CliFolder folder;
  const CliResult run = folder.Run(
      RunWords(folder.Write("job.yaml", MixtralJob()), ranks,
               {"mesh.axes={data: 1, expert: " + std::to_string(ranks) + "}",
                "moe.dispatch=" + dispatch, "moe.capacity_factor=" + std::to_string(factor)}));
  ASSERT_EQ(run.code, 0) << run.err;
  const auto lines = RouterLines(run.out);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_LT(lines.back()["train/loss"], lines.front()["train/loss"]);
  const bool sender = dispatch == "all_to_all";
  int64_t all_dropped = 0;
  for (const auto& line : lines) {
    EXPECT_EQ(line["moe/valid_assignments"], kAssignments);
    EXPECT_EQ(line["moe/skipped_padding_assignments"], 0);
    EXPECT_EQ(line["moe/extra_waves"], 0);
    const int64_t dropped = line["moe/dropped_assignments"];
    EXPECT_EQ(line["moe/sender_dropped_assignments"], sender ? dropped : 0);
    EXPECT_EQ(line["moe/receiver_dropped_assignments"], sender ? 0 : dropped);
    EXPECT_LE(static_cast<double>(kAssignments - dropped), factor * kAssignments);
    EXPECT_LT(dropped, kAssignments);
    EXPECT_DOUBLE_EQ(line["train/router/capacity_overflow_rate_mean"],
                     static_cast<double>(dropped) / kAssignments);
    all_dropped += dropped;
  }
  EXPECT_GT(all_dropped, 0);
}

const Room kRooms[] = {
    {"RingHalf", "ring", 2, 0.5},
    {"RingEvenOverFour", "ring", 4, 1.0},
    {"AllToAllEven", "all_to_all", 2, 1.0},
    {"AllToAllHalfOverFour", "all_to_all", 4, 0.5},
};

INSTANTIATE_TEST_SUITE_P(Rooms, ExpertCapacity, testing::ValuesIn(kRooms),
                         [](const auto& info) { return info.param.name; });

// Without a factor what finds no room in the first pools goes in further waves.
TEST(ExpertWaves, KeepEveryAssignment) {
  const CliFolder folder;
  const CliResult run =
      folder.Run(RunWords(folder.Write("job.yaml", MixtralJob()), 4,
                          {"mesh.axes={data: 1, expert: 4}", "moe.dispatch=all_to_all"}));
  ASSERT_EQ(run.code, 0) << run.err;
  int64_t extra_waves = 0;
  for (const auto& line : RouterLines(run.out)) {
    EXPECT_EQ(line["moe/valid_assignments"], kAssignments);
    EXPECT_EQ(line["moe/dropped_assignments"], 0);
    EXPECT_EQ(line["train/router/capacity_overflow_rate_mean"], 0);
    extra_waves += line["moe/extra_waves"].get<int64_t>();
  }
  EXPECT_GT(extra_waves, 0);
}

}  // namespace
}  // namespace trireme
