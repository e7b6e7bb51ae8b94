// What a job declared is found again from its checkpoint.
#include "cli/job_record.h"

#include <filesystem>

#include "common/config/parse.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

JobSpec Spec(const std::string& checkpoint_path) {
  auto spec = ParseJob(R"(name: tiny
model: {type: llama, hidden_size: 16, intermediate_size: 32, num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 256, max_position_embeddings: 16}
data: {train: [{path: corpus.txt}], sequence_length: 16}
train: {steps: 2, global_batch_size: 4}
)", "job.yaml", {"checkpoint.path=" + checkpoint_path});
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *std::move(spec);
}

TEST(JobRecord, IsFoundFromTheCheckpointOrItsFolder) {
  const std::string path = testing::TempDir() + "/job_record";
  fs::create_directories(path + "/step-0000002");
  v1::Job job;
  job.set_checkpoint_step(2);
  RecordJob(Spec(path), job);
  for (const std::string& folder : {path, path + "/step-0000002"}) {
    const auto spec = RecordedJob(folder);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(*spec, Spec(path));
  }
}

TEST(JobRecord, IsNotWrittenWithoutACheckpoint) {
  const std::string path = testing::TempDir() + "/job_record_none";
  fs::create_directories(path);
  RecordJob(Spec(path), v1::Job());
  EXPECT_TRUE(fs::is_empty(path));
  EXPECT_THAT(std::string(RecordedJob(path).status().message()), ::testing::HasSubstr("--job"));
}

}  // namespace
}  // namespace trireme
