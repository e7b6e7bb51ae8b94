// Small models of every architecture against PyTorch: loss and every gradient to 1e-4, on the
// reference and the CPU kernels, on one rank and on meshes; for mixtures of experts also which
// experts were chosen and where the router's bias goes next. The goldens come from
// tests/golden/torch/generate.py, which shares no code with Trireme.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "common/formats/safetensors.h"
#include "coordinator/planner/planner.h"
#include "kernels/ops/router_stats/layout.h"
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
  if (type == "mixtral") {
    model.intermediate_size = 24;
    model.experts = {.num_experts = 4, .aux_loss_coef = 0.01, .z_loss_coef = 0.001};
  } else if (type == "qwen3_moe") {
    model.experts = {.num_experts = 8, .aux_loss_coef = 0.001};
  } else if (type == "deepseek_moe") {
    model.num_hidden_layers = 3;
    model.experts = {.num_experts = 8,
                     .shared_width = 24,
                     .first_k_dense = 1,
                     .routed_scaling_factor = 1.8,
                     .aux_loss_coef = 1e-4,
                     .bias_update_rate = 1e-3};
  } else if (type == "grug_moe") {
    model.num_hidden_layers = 4;
    model.experts = {.num_experts = 8, .shared_width = 16};
    model.sliding_window = 4;
    model.qk_mult = 1.3;
    model.gated_norm_rank = 8;
  }
  if (model.experts.num_experts > 0) {
    model.experts.num_experts_per_tok = 2;
    model.experts.width = 24;
  }
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

// The loads of every layer that routes, exactly, and every router's bias after the step. The bias
// of the coming step is kept as a float32, so it is compared as one.
void ExpectRouting(const SafetensorsFile& file, const Plan& plan, const LockstepResult& step,
                   const Lockstep& lockstep) {
  EXPECT_GT(Values<float>(file, "gap")[0], 1e-3) << "choices must not hang on rounding";
  const ScalarPlacement& scalars = plan.programs[0].scalars;
  const int64_t experts = scalars.router_experts;
  for (size_t i = 0; i < scalars.router_layers.size(); ++i) {
    const double* stats = step.router_stats.data() + i * RouterStatSize(experts);
    const std::string layer = std::to_string(scalars.router_layers[i]);
    const std::vector<int32_t> loads = Values<int32_t>(file, "loads/" + layer);
    for (int64_t e = 0; e < experts; ++e) {
      EXPECT_EQ(stats[kRouterLoads + e], loads[e]) << "layer " << layer << " expert " << e;
    }
  }
  for (const std::string& name : lockstep.TensorNames()) {
    if (name.find("router.bias") == std::string::npos &&
        name.find("score_correction_bias") == std::string::npos) {
      continue;
    }
    const std::vector<float> next = Values<float>(file, "next/" + name);
    const StatusOr<std::vector<float>> bias = lockstep.Tensor(name, Lockstep::What::kParam);
    ASSERT_TRUE(bias.ok()) << bias.status();
    for (int64_t e = 0; e < experts; ++e) EXPECT_NEAR((*bias)[e], next[e], 1e-5) << name;
  }
}

class TorchGolden : public testing::TestWithParam<Golden> {};

TEST_P(TorchGolden, LossAndGradientsAgree) {
  const Golden& golden = GetParam();
  const auto file = SafetensorsFile::Open("tests/golden/torch/" + golden.type + ".safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<int32_t> tokens = Values<int32_t>(*file, "tokens");
  const std::vector<int32_t> targets = Values<int32_t>(*file, "targets");
  const bool moe = golden.type.find("moe") != std::string::npos || golden.type == "mixtral";
  std::vector<float> loss_weights;
  if (moe) loss_weights = Values<float>(*file, "weights");
  const auto source = [&](int64_t, int64_t sequence) {
    const auto row = [&](const std::vector<int32_t>& all) {
      return std::vector<int32_t>(all.begin() + sequence * kPositions,
                                  all.begin() + (sequence + 1) * kPositions);
    };
    std::vector<float> weights;
    if (!loss_weights.empty()) {
      weights.assign(loss_weights.begin() + sequence * kPositions,
                     loss_weights.begin() + (sequence + 1) * kPositions);
    }
    return SequenceData{row(tokens), row(targets), weights};
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
  if (moe) ExpectRouting(*file, *plan, *step, **lockstep);
  // Gradients were seeded for tokens of weight 1.
  const auto correction = static_cast<float>(kBatch * kPositions / step->weight);
  double largest = 0;
  for (const std::string& name : (*lockstep)->TensorNames()) {
    if (!file->Find("grad/" + name).ok()) continue;  // a bias that no gradient moves
    largest = std::max(largest, Norm(Values<float>(*file, "grad/" + name)));
  }
  for (const std::string& name : (*lockstep)->TensorNames()) {
    if (!file->Find("grad/" + name).ok()) continue;
    const StatusOr<std::vector<float>> grad = (*lockstep)->Tensor(name, Lockstep::What::kGrad);
    ASSERT_TRUE(grad.ok()) << grad.status();
    std::vector<float> difference = Values<float>(*file, "grad/" + name);
    const double norm = Norm(difference);
    ASSERT_EQ(difference.size(), grad->size()) << name;
    for (size_t i = 0; i < difference.size(); ++i) difference[i] -= correction * (*grad)[i];
    // A key bias has no gradient but rounding: compare it on the scale of the others.
    EXPECT_LT(Norm(difference), 1e-4 * std::max(norm, 1e-3 * largest)) << name;
  }
}

std::vector<Golden> ExpertGoldens() {
  constexpr auto kReference = Lockstep::Kernels::kReference;
  constexpr auto kCpu = Lockstep::Kernels::kCpu;
  std::vector<Golden> goldens;
  for (const char* const type : {"mixtral", "qwen3_moe", "deepseek_moe", "grug_moe"}) {
    goldens.push_back({type, 1, {}, kReference});
    goldens.push_back({type, 1, {}, kCpu});
    goldens.push_back({type, 2, {{"data", 1}, {"model", 2}}, kCpu});
    goldens.push_back({type, 3, {{"replica", 3}, {"data", 1}}, kReference});
  }
  goldens.push_back({"grug_moe", 4, {{"stage", 2}, {"data", 1}, {"model", 2}}, kCpu});
  return goldens;
}

INSTANTIATE_TEST_SUITE_P(Experts, TorchGolden, testing::ValuesIn(ExpertGoldens()),
                         [](const auto& info) {
                           return info.param.type + std::to_string(info.param.devices) +
                                  (info.param.kernels == Lockstep::Kernels::kCpu ? "_cpu"
                                                                                 : "_reference");
                         });
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
