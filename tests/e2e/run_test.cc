// `trireme run` as users meet it: checkpoints resume bit for bit, Ctrl-C leaves nothing, text comes
// out of a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include "common/formats/checkpoint_reader.h"
#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kMesh = {"--hosts", "2",     "--devices-per-host",
                                        "2",       "--set", "mesh.axes={data: 2, model: 2}"};

std::vector<std::string> RunWords(const std::string& job, const std::vector<std::string>& sets) {
  std::vector<std::string> words = {"run", job, "-o", "json"};
  words.insert(words.end(), kMesh.begin(), kMesh.end());
  for (const std::string& set : sets) {
    words.push_back("--set");
    words.push_back(set);
  }
  return words;
}

// Losses and every tensor, optimizer state included, are equal to the last bit.
TEST(Run, ResumesFromACheckpointBitForBit) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", LlamaJob());
  const CliResult whole =
      folder.Run(RunWords(job, {"checkpoint.path=whole", "checkpoint.every=3"}));
  ASSERT_EQ(whole.code, 0) << whole.err;
  const CliResult rest =
      folder.Run(RunWords(job, {"checkpoint.path=rest", "checkpoint.load=whole/step-0000003"}));
  ASSERT_EQ(rest.code, 0) << rest.err;
  const auto steps = Steps(whole.out);
  const auto later = Steps(rest.out);
  ASSERT_EQ(steps.size(), 6u);
  ASSERT_EQ(later.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(later[i].step, steps[i + 3].step);
    EXPECT_EQ(later[i].loss, steps[i + 3].loss);
    EXPECT_EQ(later[i].grad_norm, steps[i + 3].grad_norm);
  }
  const std::string last = folder.path() + "/whole/step-0000006";
  const auto manifest = ReadManifest(last);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_GT(manifest->tensors.size(), 30u);
  for (const ManifestTensor& tensor : manifest->tensors) {
    EXPECT_EQ(ReadTensor(last, tensor.name),
              ReadTensor(folder.path() + "/rest/step-0000006", tensor.name))
        << tensor.name;
  }
}

// Saved on data=2 x model=2, loaded and saved again on other meshes: every tensor, padding gone, to
// the last bit.
TEST(Run, AnyMeshLoadsTheCheckpointBitForBit) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", LlamaJob());
  const CliResult saved = folder.Run(RunWords(job, {"checkpoint.path=saved"}));
  ASSERT_EQ(saved.code, 0) << saved.err;
  const std::string first = folder.path() + "/saved/step-0000006";
  const auto manifest = ReadManifest(first);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const std::vector<std::pair<std::string, std::string>> meshes = {
      {"one", "{data: 1, model: 1}"},
      {"model4", "{data: 1, model: 4}"},
      {"stages", "{data: 2, model: 1, stage: 2}"}};
  for (const auto& [name, axes] : meshes) {
    std::vector<std::string> words = {"run",
                                      job,
                                      "-o",
                                      "json",
                                      "--hosts",
                                      name == "one" ? "1" : "2",
                                      "--devices-per-host",
                                      name == "one" ? "1" : "2"};
    for (const std::string& set :
         {"checkpoint.path=" + name, "checkpoint.load=" + first, "mesh.axes=" + axes}) {
      words.push_back("--set");
      words.push_back(set);
    }
    const CliResult moved = folder.Run(words);
    ASSERT_EQ(moved.code, 0) << moved.err;
    for (const ManifestTensor& tensor : manifest->tensors) {
      EXPECT_EQ(ReadTensor(first, tensor.name),
                ReadTensor(folder.path() + "/" + name + "/step-0000006", tensor.name))
          << name << " " << tensor.name;
    }
  }
}

TEST(Run, GeneratesFromItsCheckpoint) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", LlamaJob());
  ASSERT_EQ(folder.Run(RunWords(job, {"checkpoint.path=ckpt"})).code, 0) << folder.Err();
  const std::vector<std::string> words = {"generate", "--checkpoint",  "ckpt",
                                          "--prompt", "the sea",       "--max-tokens",
                                          "12",       "--temperature", "0"};
  const CliResult first = folder.Run(words);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out.size(), std::string("the sea").size() + 12 + 1);  // a byte a token
  EXPECT_THAT(first.out, testing::StartsWith("the sea"));
  EXPECT_EQ(folder.Run(words).out, first.out);
  EXPECT_THAT(folder.LeftFiles(), testing::IsSubsetOf({"ckpt", "corpus.txt.tokens"}));
}

TEST(Run, CtrlCCancelsTheJobAndLeavesNothing) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", LlamaJob());
  Subprocess run = folder.Start(RunWords(job, {"train.steps=1000000"}));
  while (Steps(folder.Out()).size() < 3 && run.running()) sched_yield();
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 130) << folder.Err();
  EXPECT_THAT(folder.Err(), HasSubstr("CANCELLED"));
  EXPECT_EQ(folder.LeftProcesses(), "");
  EXPECT_THAT(folder.LeftFiles(), testing::IsSubsetOf({"corpus.txt.tokens"}));
}

}  // namespace
}  // namespace trireme
