// Files are read and judged before anything is started; paths keep their meaning on other machines.
#include "cli/job_file.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr char kJob[] = R"(name: tiny
model: {type: llama, hidden_size: 16, intermediate_size: 32, num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 256, max_position_embeddings: 16}
data: {train: [{path: corpus.txt}, {path: /abs/more.txt}], sequence_length: 16}
train: {steps: 2, global_batch_size: 4}
mesh: {axes: {data: -1, model: 2}, dcn_axes: {replica_dcn: 3}}
checkpoint: {path: ../ckpt}
)";

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(LoadJob, MakesPathsAbsolute) {
  const auto spec = LoadJob(WriteFile("job_file_a.yaml", kJob), {"train.steps=7"}, "/home/ann");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->data.train[0].path, "/home/ann/corpus.txt");
  EXPECT_EQ(spec->data.train[1].path, "/abs/more.txt");
  EXPECT_EQ(spec->checkpoint.path, "/home/ckpt");
  EXPECT_EQ(spec->checkpoint.load, "");
  EXPECT_EQ(spec->train.steps, 7);
  EXPECT_EQ(DevicesOfMesh(*spec), 6);
}

TEST(LoadJob, NamesFilesThatCannotBeRead) {
  EXPECT_EQ(LoadJob("/nowhere/job.yaml", {}, "/").status().message(),
            "/nowhere/job.yaml: no such file");
  EXPECT_THAT(std::string(LoadJob(testing::TempDir(), {}, "/").status().message()),
              HasSubstr("is a folder"));
  const std::string large = WriteFile("job_file_large.yaml", std::string((1 << 20) + 1, '#'));
  EXPECT_THAT(std::string(LoadJob(large, {}, "/").status().message()), HasSubstr("over 1 MiB"));
}

TEST(CheckDataFiles, NamesTheKeyAndTheFile) {
  auto spec = LoadJob(WriteFile("job_file_b.yaml", kJob), {}, testing::TempDir());
  ASSERT_TRUE(spec.ok());
  WriteFile("corpus.txt", "text");
  EXPECT_EQ(CheckDataFiles(*spec, "job.yaml").message(),
            "job.yaml: data.train[1].path: /abs/more.txt is not a file; relative paths start at "
            "the current folder");
  spec->data.train.pop_back();
  EXPECT_TRUE(CheckDataFiles(*spec, "job.yaml").ok());
}

TEST(LoadFleet, TakesAFileOrTheTextItself) {
  const auto fleet = LoadFleet("{device: h100, slices: 2, hosts_per_slice: 1, devices_per_host: 8}");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  EXPECT_EQ(fleet->num_devices(), 16);
  EXPECT_THAT(std::string(LoadFleet("/nowhere.yaml").status().message()), HasSubstr("no such file"));
}

TEST(LocalTopology, SpreadsHostsOverSlices) {
  const auto topology = LocalTopology(4, 2, 2);
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->num_slices(), 2);
  EXPECT_EQ(topology->num_devices(), 8);
  EXPECT_EQ(topology->hosts[3].name, "host-3");
  EXPECT_EQ(topology->hosts[3].slice, 1);
  EXPECT_THAT(std::string(LocalTopology(3, 2, 2).status().message()), HasSubstr("does not divide"));
}

}  // namespace
}  // namespace trireme
