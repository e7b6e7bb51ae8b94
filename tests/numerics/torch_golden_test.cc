// A small Llama and GPT-2 against PyTorch: loss and every gradient to 1e-4, on the reference and
// the CPU kernels, on one rank and on a mesh. The goldens come from tests/golden/torch/generate.py,
// which shares no code with Trireme.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "common/formats/safetensors.h"
#include "coordinator/planner/planner.h"
#include "tests/support/lockstep.h"

namespace trireme {
namespace {

constexpr int kBatch = 3;
constexpr int kPositions = 12;

JobSpec GoldenJob(const std::string& type) {
  JobSpec job;
  job.name = "golden";
  ModelSpec& model = job.model;
  model = {.type = type,
           .hidden_size = 32,
           .intermediate_size = type == "gpt2" ? 128 : 48,
           .num_hidden_layers = 2,
           .num_attention_heads = 4,
           .num_key_value_heads = type == "gpt2" ? 4 : 2,
           .head_dim = 8,
           .vocab_size = 61,
           .max_position_embeddings = 16,
           .tie_word_embeddings = type == "gpt2"};
  job.data.sequence_length = kPositions;
  job.train = {.steps = 2, .global_batch_size = kBatch};
  job.optimizer.max_grad_norm = 0;
  return job;
}

template <typename T>
std::vector<T> Values(const SafetensorsFile& file, const std::string& name) {
  const StatusOr<StoredTensor> tensor = file.Find(name);
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  if (!tensor.ok()) return {};
  std::vector<T> values(tensor->data.size() / sizeof(T));
  std::memcpy(values.data(), tensor->data.data(), tensor->data.size());
  return values;
}

double Norm(const std::vector<float>& a) {
  double sum = 0;
  for (const float x : a) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

struct Golden {
  std::string type;
  int64_t devices;
  AxisSizes axes;
  Lockstep::Kernels kernels;
};

class TorchGolden : public testing::TestWithParam<Golden> {};

TEST_P(TorchGolden, LossAndGradientsAgree) {
  const Golden& golden = GetParam();
  const auto file = SafetensorsFile::Open("tests/golden/torch/" + golden.type + ".safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<int32_t> tokens = Values<int32_t>(*file, "tokens");
  const std::vector<int32_t> targets = Values<int32_t>(*file, "targets");
  const auto source = [&](int64_t, int64_t sequence) {
    const auto row = [&](const std::vector<int32_t>& all) {
      return std::vector<int32_t>(all.begin() + sequence * kPositions,
                                  all.begin() + (sequence + 1) * kPositions);
    };
    return SequenceData{row(tokens), row(targets), {}};
  };
  JobSpec job = GoldenJob(golden.type);
  job.mesh.axes = golden.axes;
  const StatusOr<Topology> topology =
      MakeTopology(*FindDeviceKind("cpu"), {{"host", 0, golden.devices}});
  const StatusOr<Plan> plan = PlanJob(job, *topology);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto lockstep = Lockstep::Create(*plan, source, golden.kernels);
  ASSERT_TRUE(lockstep.ok()) << lockstep.status();
  ASSERT_TRUE((*lockstep)->Init().ok());
  for (const std::string& name : (*lockstep)->TensorNames()) {
    const Status set = (*lockstep)->SetParam(name, Values<float>(*file, name));
    ASSERT_TRUE(set.ok()) << set;
  }
  const StatusOr<LockstepResult> step = (*lockstep)->RunStep(0);
  ASSERT_TRUE(step.ok()) << step.status();
  const double loss = Values<float>(*file, "loss")[0];
  EXPECT_NEAR(step->loss, loss, 1e-4 * loss);
  double largest = 0;
  for (const std::string& name : (*lockstep)->TensorNames()) {
    largest = std::max(largest, Norm(Values<float>(*file, "grad/" + name)));
  }
  for (const std::string& name : (*lockstep)->TensorNames()) {
    const StatusOr<std::vector<float>> grad = (*lockstep)->Tensor(name, Lockstep::What::kGrad);
    ASSERT_TRUE(grad.ok()) << grad.status();
    std::vector<float> difference = Values<float>(*file, "grad/" + name);
    const double norm = Norm(difference);
    ASSERT_EQ(difference.size(), grad->size()) << name;
    for (size_t i = 0; i < difference.size(); ++i) difference[i] -= (*grad)[i];
    // A key bias has no gradient but rounding: compare it on the scale of the others.
    EXPECT_LT(Norm(difference), 1e-4 * std::max(norm, 1e-3 * largest)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    A, TorchGolden,
    testing::Values(
        Golden{"llama", 1, {}, Lockstep::Kernels::kReference},
        Golden{"gpt2", 1, {}, Lockstep::Kernels::kReference},
        Golden{"llama", 1, {}, Lockstep::Kernels::kCpu},
        Golden{"gpt2", 1, {}, Lockstep::Kernels::kCpu},
        Golden{"llama", 2, {{"data", 1}, {"model", 2}}, Lockstep::Kernels::kCpu},
        Golden{"gpt2", 4, {{"stage", 2}, {"data", 1}, {"model", 2}}, Lockstep::Kernels::kCpu}),
    [](const auto& info) {
      return info.param.type + std::to_string(info.param.devices) +
             (info.param.kernels == Lockstep::Kernels::kCpu ? "_cpu" : "_reference");
    });

}  // namespace
}  // namespace trireme
