// Defaults are those of the Hugging Face configurations; z loss of mixtral is Levanter's, grug's
// are those of its repository (experiments/grug/moe of Marin), bias_update_rate is DeepSeek-V3's
// (arXiv:2412.19437, 4.2).
#include "common/config/experts.h"

#include <algorithm>
#include <cmath>

#include "common/config/values.h"

namespace trireme {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }

// What the type's configuration calls the number of its experts.
std::string CountKey(const std::string& type) {
  if (type == "mixtral") return "model.num_local_experts";
  return type == "deepseek_moe" ? "model.n_routed_experts" : "model.num_experts";
}

struct ExpertDefaults {
  std::string_view type;
  int64_t num_experts;
  int64_t per_token;
  double aux_loss;
  double z_loss;
  double bias_update_rate;
};

constexpr ExpertDefaults kDefaults[] = {
    {"mixtral", 8, 2, 0.01, 0.001, 0},
    {"qwen3_moe", 128, 8, 0.001, 0, 0},
    {"deepseek_moe", 0, 8, 0, 0, 0.001},
    {"grug_moe", 64, 4, 0, 0, 0},
};

void FillGrug(const IsGivenKey& given, ModelSpec* model) {
  if (!given("model.shared_expert_intermediate_size")) {
    model->experts.shared_width = model->hidden_size;
  }
  if (!given("model.sliding_window")) model->sliding_window = 2048;
  if (!given("model.qk_mult")) model->qk_mult = 1.3;
  if (!given("model.gated_norm_rank")) model->gated_norm_rank = 128;
  if (!given("model.initializer_range")) {
    model->initializer_range = 0.5 / std::sqrt(static_cast<double>(model->hidden_size));
  }
}

}  // namespace

const std::vector<std::string>& ExpertTypes() {
  static const auto* const types = [] {
    auto* all = new std::vector<std::string>();
    for (const ExpertDefaults& defaults : kDefaults) all->emplace_back(defaults.type);
    return all;
  }();
  return *types;
}

void FillExperts(const IsGivenKey& given, ModelSpec* model) {
  const auto* const defaults =
      std::find_if(std::begin(kDefaults), std::end(kDefaults),
                   [&](const ExpertDefaults& one) { return one.type == model->type; });
  if (defaults == std::end(kDefaults)) return;
  ExpertsSpec& experts = model->experts;
  if (!given(CountKey(model->type))) experts.num_experts = defaults->num_experts;
  if (!given("model.num_experts_per_tok")) experts.num_experts_per_tok = defaults->per_token;
  if (!given("model.router_aux_loss_coef")) experts.aux_loss_coef = defaults->aux_loss;
  if (!given("model.router_z_loss_coef")) experts.z_loss_coef = defaults->z_loss;
  if (!given("model.router_bias_update_rate")) {
    experts.bias_update_rate = defaults->bias_update_rate;
  }
  if (model->type == "mixtral") experts.width = model->intermediate_size;
  if (model->type == "deepseek_moe") {
    const int64_t shared = given("model.n_shared_experts") ? experts.shared_width : 1;
    experts.shared_width = shared * experts.width;
  }
  if (model->type == "grug_moe") FillGrug(given, model);
}

Status CheckExperts(const JobSpec& spec, const LocateKey& locate) {
  const ExpertsSpec& experts = spec.model.experts;
  if (experts.num_experts == 0) return absl::OkStatus();
  if (experts.num_experts_per_tok > experts.num_experts) {
    return ConfigError(locate("model.num_experts_per_tok"), "model.num_experts_per_tok",
                       Text(experts.num_experts_per_tok) + " is more than " +
                           CountKey(spec.model.type) + " " + Text(experts.num_experts) +
                           "; set it to at most that");
  }
  if (experts.first_k_dense >= spec.model.num_hidden_layers) {
    return ConfigError(locate("model.first_k_dense_replace"), "model.first_k_dense_replace",
                       Text(experts.first_k_dense) +
                           " leaves no block with experts, for num_hidden_layers is " +
                           Text(spec.model.num_hidden_layers) + "; set it to at most " +
                           Text(spec.model.num_hidden_layers - 1) + ", or use type: llama");
  }
  const int64_t group = spec.moe.balance_group_sequences;
  if (spec.train.global_batch_size % group != 0) {
    return ConfigError(locate("moe.balance_group_sequences"), "moe.balance_group_sequences",
                       Text(group) + " does not divide train.global_batch_size " +
                           Text(spec.train.global_batch_size) +
                           "; a group must not reach into the next step: use 1, or another "
                           "divisor");
  }
  return absl::OkStatus();
}

}  // namespace trireme
