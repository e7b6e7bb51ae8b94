// A shell line per start: it is what users type.
#include "tests/e2e/cli_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "common/base/check.h"
#include "common/formats/checkpoint_reader.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// Words in an order that a small model can learn a little of, the same on every machine.
std::string Corpus() {
  static constexpr const char* kWords[] = {"the ",  "sea ",  "was ", "calm ", "and ",
                                           "oars ", "rose ", "as ",  "one. ", "Row, "};
  std::string text;
  uint64_t state = 1;
  while (text.size() < 20000) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += kWords[(state >> 33) % 10];
  }
  return text;
}

std::string Job(const std::string& model) {
  return "name: tiny\nmodel: {" + model +
         "}\ndata: {train: [{path: corpus.txt}], tokenizer: bytes, sequence_length: 32}\n"
         "train: {steps: 6, global_batch_size: 8, microbatch_size: 2, seed: 3}\n"
         "optimizer: {type: adamw, learning_rate: 3e-3}\n"
         "schedule: {type: cosine, warmup: 2 steps}\n";
}

}  // namespace

CliFolder::CliFolder() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(info->test_suite_name()) + "." + info->name();
  std::replace(name.begin(), name.end(), '/', '-');
  path_ = testing::TempDir() + "/trireme-e2e-" + std::to_string(getpid()) + "-" + name;
  fs::remove_all(path_);
  CHECK(fs::create_directories(path_ + "/tmp")) << path_;
  Write("corpus.txt", Corpus());
}

std::string CliFolder::Write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ + "/" + name) << text;
  known_.push_back(name);
  return path_ + "/" + name;
}

Subprocess CliFolder::Start(const std::vector<std::string>& words,
                            const std::map<std::string, std::string>& env) const {
  std::string line = "cd " + Quoted(path_) +
                     " && exec env -u TRIREME_COORDINATOR TMPDIR=" + Quoted(path_ + "/tmp");
  for (const auto& [key, value] : env) line += " " + key + "=" + Quoted(value);
  line += " " + Quoted(BinFolder() + "/trireme");
  for (const std::string& word : words) line += " " + Quoted(word);
  line += " > .out 2> .err";
  auto process = Subprocess::Start("/bin/sh", {"-c", line}, {});
  CHECK(process.ok()) << process.status();
  return *std::move(process);
}

std::string CliFolder::Out() const { return ReadAll(path_ + "/.out"); }
std::string CliFolder::Err() const { return ReadAll(path_ + "/.err"); }

CliResult CliFolder::Run(const std::vector<std::string>& words,
                         const std::map<std::string, std::string>& env) const {
  Subprocess process = Start(words, env);
  const int code = process.Wait();
  return {code, Out(), Err()};
}

std::string CliFolder::LeftProcesses() const {
  std::string left;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = ReadAll("/proc/" + pid + "/environ");
    if (environment.find("TMPDIR=" + path_ + "/tmp") == std::string::npos) continue;
    std::string command = ReadAll("/proc/" + pid + "/cmdline");
    std::replace(command.begin(), command.end(), '\0', ' ');
    left += pid + " " + command + "\n";
  }
  return left;
}

std::vector<std::string> CliFolder::LeftFiles() const {
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == "tmp" || name == ".out" || name == ".err" ||
                      std::find(known_.begin(), known_.end(), name) != known_.end();
    if (!ours) left.push_back(name);
  }
  for (const auto& entry : fs::directory_iterator(path_ + "/tmp")) {
    left.push_back("tmp/" + entry.path().filename().string());
  }
  return left;
}

std::string LlamaJob() {
  return Job(
      "type: llama, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 4, "
      "num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 256, "
      "max_position_embeddings: 32");
}

std::string Gpt2Job() {
  return Job(
      "type: gpt2, hidden_size: 32, num_hidden_layers: 4, num_attention_heads: 4, "
      "vocab_size: 256, max_position_embeddings: 32");
}

std::string MixtralJob() {
  return Job(
      "type: mixtral, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2, "
      "num_attention_heads: 4, vocab_size: 256, max_position_embeddings: 32, "
      "num_local_experts: 4, num_experts_per_tok: 2");
}

std::string GrugJob() {
  return Job(
      "type: grug_moe, hidden_size: 32, num_hidden_layers: 2, num_attention_heads: 4, "
      "num_key_value_heads: 2, vocab_size: 256, max_position_embeddings: 32, num_experts: 8, "
      "num_experts_per_tok: 2, moe_intermediate_size: 24, shared_expert_intermediate_size: 16, "
      "sliding_window: 8, gated_norm_rank: 8");
}

std::string DeepseekJob() {
  return Job(
      "type: deepseek_moe, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 3, "
      "num_attention_heads: 4, vocab_size: 256, max_position_embeddings: 32, "
      "n_routed_experts: 8, num_experts_per_tok: 2, moe_intermediate_size: 24, "
      "n_shared_experts: 1, first_k_dense_replace: 1");
}

std::vector<StepLineJson> Steps(const std::string& json_lines) {
  std::vector<StepLineJson> steps;
  std::istringstream lines(json_lines);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("train/loss")) continue;
    steps.push_back({json["step"], json["train/loss"], json["grad_norm"],
                     json["throughput/duration"], json["communication/ici_bytes"],
                     json["communication/dcn_bytes"]});
  }
  return steps;
}

std::vector<float> ReadTensor(const std::string& folder, const std::string& name) {
  auto reader = CheckpointReader::Open(folder);
  const ManifestTensor* tensor = reader.ok() ? reader->manifest().Find(name) : nullptr;
  EXPECT_NE(tensor, nullptr) << name << " in " << folder << ": " << reader.status();
  if (tensor == nullptr) return {};
  int64_t count = 1;
  for (const int64_t size : tensor->shape) count *= size;
  std::vector<float> values(count);
  const Status status = reader->ReadRegion(name, std::vector<int64_t>(tensor->shape.size(), 0),
                                           tensor->shape, values);
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

std::string BinFolder() { return TRIREME_BIN_DIR; }

}  // namespace trireme
