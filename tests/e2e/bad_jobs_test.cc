// Bad job files are refused with words that name the value and the way out, and leave nothing
// behind: no file, no process, no word to a coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct BadJob {
  std::string name;
  std::vector<std::string> sets;  // on a good file
  std::string appended;           // to a good file
  int code;
  std::vector<std::string> says;
  std::string job = LlamaJob();  // the good file
};

class BadJobs : public testing::TestWithParam<BadJob> {};

TEST_P(BadJobs, AreRefusedAndCreateNothing) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", GetParam().job + GetParam().appended);
  std::vector<std::string> sets = {"--set", "checkpoint.path=ckpt"};
  for (const std::string& set : GetParam().sets) {
    sets.push_back("--set");
    sets.push_back(set);
  }
  const auto with_sets = [&](std::vector<std::string> words) {
    words.insert(words.end(), sets.begin(), sets.end());
    return folder.Run(words);
  };
  std::vector<CliResult> results = {
      with_sets({"run", job, "--hosts", "2", "--devices-per-host", "2"}),
      with_sets({"plan", job, "--fleet",
                 "{device: cpu, slices: 1, hosts_per_slice: 2, devices_per_host: 2}"})};
  // A bad file reaches no coordinator; what cannot be sharded is known only there.
  if (GetParam().code == 2) {
    results.push_back(with_sets({"submit", job, "--coordinator", "127.0.0.1:1"}));
  }
  for (const CliResult& result : results) {
    EXPECT_EQ(result.code, GetParam().code) << result.err;
    for (const std::string& words : GetParam().says) EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_THAT(folder.LeftFiles(), IsEmpty());
  EXPECT_EQ(folder.LeftProcesses(), "");
}

const BadJob kBadJobs[] = {
    {"UnknownKey", {"train.stepz=3"}, "", 2, {"stepz", "did you mean train.steps?"}},
    {"UnknownSection", {}, "trian: {steps: 3}\n", 2, {"job.yaml:7", "trian", "train"}},
    {"WrongType", {"train.steps=ten"}, "", 2, {"train.steps", "whole number", "\"ten\""}},
    {"Negative", {"train.global_batch_size=-8"}, "", 2, {"train.global_batch_size", "-8"}},
    {"DuplicateKey", {}, "name: again\n", 2, {"job.yaml:7", "name"}},
    {"Alias", {}, "pipeline: {order: &a gpipe}\n", 2, {"job.yaml:7", "anchor"}},
    {"BadYaml", {}, "mesh: {axes: {data: 2\n", 2, {"job.yaml"}},
    {"UnknownModel", {"model.type=lama"}, "", 2, {"model.type", "llama", "lama"}},
    {"HeadsAndKvHeads", {"model.num_key_value_heads=3"}, "", 2, {"num_key_value_heads", "3", "4"}},
    {"SequenceTooLong", {"data.sequence_length=64"}, "", 2, {"data.sequence_length", "64", "32"}},
    {"UnknownPrecision", {"precision.params=float31"}, "", 2, {"precision.params", "float32"}},
    {"UnknownOrder", {"pipeline.order=1f2b"}, "", 2, {"pipeline.order", "1f1b", "1f2b"}},
    {"UnknownAxisInMapping", {"mesh.compute_mapping={batch: dta}"}, "", 2, {"dta", "data"}},
    {"DevicesDoNotMatch", {"mesh.axes={data: 3, model: 1}"}, "", 7, {"3", "4"}},
    {"ModelDoesNotDivideHeads",
     {"mesh.axes={data: 1, model: 4}", "model.num_attention_heads=2",
      "model.num_key_value_heads=2"},
     "",
     7,
     {"heads", "2", "4"}},
    {"BatchDoesNotDivide",
     {"train.global_batch_size=6", "mesh.axes={data: 4, model: 1}"},
     "",
     7,
     {"6", "4"}},
    {"MoreStagesThanLayers",
     {"mesh.axes={data: 1, model: 1, stage: 4}", "model.num_hidden_layers=3"},
     "",
     7,
     {"3", "4"}},
    {"ExpertsOfADenseModel",
     {"moe.dispatch=ring"},
     "",
     2,
     {"moe.dispatch", "not a key of llama", "mixtral, qwen3_moe, deepseek_moe, grug_moe"}},
    {"ExpertsOfAnotherType",
     {"model.n_routed_experts=8"},
     "",
     2,
     {"model.n_routed_experts", "not a key of mixtral", "num_local_experts"},
     MixtralJob()},
    {"MoreChoicesThanExperts",
     {"model.num_experts_per_tok=5"},
     "",
     2,
     {"num_experts_per_tok", "5 is more than model.num_local_experts 4"},
     MixtralJob()},
    {"UnknownDispatch",
     {"moe.dispatch=alltoall"},
     "",
     2,
     {"moe.dispatch", "\"alltoall\"", "did you mean all_to_all?"},
     MixtralJob()},
    {"NoCapacity",
     {"moe.capacity_factor=0"},
     "",
     2,
     {"moe.capacity_factor", "none or a number > 0", "got 0"},
     MixtralJob()},
    {"NegativeCapacity",
     {"moe.capacity_factor=-1.5"},
     "",
     2,
     {"moe.capacity_factor", "none or a number > 0", "got -1.5"},
     MixtralJob()},
    {"BalanceGroupsAndBatch",
     {"moe.balance_group_sequences=3"},
     "",
     2,
     {"moe.balance_group_sequences", "3 does not divide train.global_batch_size 8", "divisor"},
     MixtralJob()},
    {"BalanceGroupsCutApart",
     {"moe.balance_group_sequences=8", "mesh.axes={data: 2, expert: 2}"},
     "",
     7,
     {"moe.balance_group_sequences 8", "2 sequences", "make groups smaller"},
     MixtralJob()},
    {"ExpertsDoNotDivide",
     {"model.num_local_experts=6", "mesh.axes={data: 1, expert: 4}"},
     "",
     7,
     {"experts.gate_proj.weight", "expert 6 does not divide over expert (4 shards", "1, 2, 3, 6"},
     MixtralJob()},
    {"BatchOverExpertsDoesNotDivide",
     {"train.global_batch_size=6", "mesh.axes={data: 1, expert: 4}"},
     "",
     7,
     {"train.global_batch_size 6", "4 data-parallel replicas", "try 4 or 8"},
     MixtralJob()},
    {"ExpertsAndWidthOnOneAxis",
     {"mesh.axes={data: 2, model: 2}", "mesh.shared_mapping={experts/expert: model, mlp: model}"},
     "",
     7,
     {"expert and mlp both want axis model", "map one of them to another axis or to null"},
     MixtralJob()},
};

INSTANTIATE_TEST_SUITE_P(Jobs, BadJobs, testing::ValuesIn(kBadJobs),
                         [](const auto& info) { return info.param.name; });

// Does not fit: 8 layers of 65536 wide on one GPU.
TEST(BadJob, WhatDoesNotFitSaysByHowMuchAndWhatToTry) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", LlamaJob());
  const CliResult result = folder.Run(
      {"plan", job, "--fleet", "{device: h100, slices: 1, hosts_per_slice: 1, devices_per_host: 1}",
       "--set", "model.hidden_size=65536", "--set", "model.intermediate_size=262144"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.err, HasSubstr("h100"));
  EXPECT_THAT(result.err, HasSubstr("try"));
}

TEST(BadJob, MissingDataIsFoundBeforeAnythingStarts) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", LlamaJob());
  const CliResult result = folder.Run({"run", job, "--set", "data.train=[{path: no.txt}]"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("no.txt is not a file"));
  EXPECT_THAT(folder.LeftFiles(), IsEmpty());
}

}  // namespace
}  // namespace trireme
