// Base jobs are tiny and awkward on purpose: 3 or 4 layers, vocab 257, sequence 7, 2 kv heads under
// 4 heads.
#include "tests/numerics/layout_cases.h"

#include "common/config/parse.h"

namespace trireme {
namespace {

// The models; all train alike.
constexpr char kLlama[] = R"(
model: {type: llama, hidden_size: 16, intermediate_size: 24, num_hidden_layers: 3,
        num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 257,
        max_position_embeddings: 16, initializer_range: 0.3}
)";

constexpr char kGpt2[] = R"(
model: {type: gpt2, hidden_size: 16, intermediate_size: 32, num_hidden_layers: 3,
        num_attention_heads: 4, vocab_size: 257, max_position_embeddings: 16,
        initializer_range: 0.3}
)";

constexpr char kMixtral[] = R"(
model: {type: mixtral, hidden_size: 16, intermediate_size: 24, num_hidden_layers: 3,
        num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 257,
        max_position_embeddings: 16, initializer_range: 0.3, num_local_experts: 4,
        num_experts_per_tok: 2}
)";

constexpr char kGrug[] = R"(
model: {type: grug_moe, hidden_size: 16, num_hidden_layers: 4, num_attention_heads: 4,
        num_key_value_heads: 2, vocab_size: 257, max_position_embeddings: 16,
        initializer_range: 0.3, num_experts: 8, num_experts_per_tok: 2,
        moe_intermediate_size: 12, shared_expert_intermediate_size: 8, sliding_window: 3,
        gated_norm_rank: 4, router_z_loss_coef: 1e-3}
)";

constexpr char kDeepseek[] = R"(
model: {type: deepseek_moe, hidden_size: 16, intermediate_size: 24, num_hidden_layers: 4,
        num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 257,
        max_position_embeddings: 16, initializer_range: 0.3, n_routed_experts: 8,
        num_experts_per_tok: 2, moe_intermediate_size: 12, n_shared_experts: 1,
        first_k_dense_replace: 1, routed_scaling_factor: 1.8, router_aux_loss_coef: 1e-3,
        router_bias_update_rate: 0.01}
)";

constexpr char kTraining[] = R"(
name: layout
data: {train: [{path: none.txt}], tokenizer: bytes, sequence_length: 7}
train: {steps: 10, global_batch_size: 8, microbatch_size: 2, seed: 3}
optimizer: {type: adamw, learning_rate: 1e-2, betas: [0.9, 0.95], weight_decay: 0.1,
            max_grad_norm: 1.0}
schedule: {type: cosine, warmup: 2 steps, min_ratio: 0.1}
)";

const char kNoFsdp[] = "mesh.param_mapping.embed=null";
const char kSp[] = "mesh.compute_mapping.residual/position=model";

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find("; ", at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return parts;
}

std::string Axes(const std::string& axes) { return "mesh.axes={" + axes + "}"; }

std::string BaseOf(const LayoutCase& layout) {
  const std::string family = layout.model.substr(0, layout.model.find('_'));
  const char* model = kLlama;
  if (family == "gpt2") model = kGpt2;
  if (family == "mixtral") model = kMixtral;
  if (family == "grug") model = kGrug;
  if (family == "deepseek") model = kDeepseek;
  return std::string(kTraining) + model;
}

std::vector<std::string> ModelOverrides(const LayoutCase& layout) {
  if (layout.model == "grug_groups2") return {"moe.balance_group_sequences=2"};
  if (layout.model.ends_with("_deep")) {
    // Small steps: choices of experts that nearly tie would amplify what rounding makes of large
    // ones.
    return {"model.num_hidden_layers=9", "optimizer.learning_rate=1e-3"};
  }
  if (layout.model == "deep") return {"model.num_hidden_layers=9"};
  if (layout.model == "tied") return {"model.tie_word_embeddings=true"};
  return {};
}

}  // namespace

std::vector<LayoutCase> LayoutCases() {
  const std::string step = "mesh.gather=step; mesh.reduce=step";
  const std::string remat = "train.remat=block";
  const std::string zero1 = Join({kNoFsdp, "mesh.optimizer_mapping.embed=data"});
  const std::string gpipe = "pipeline.order=gpipe";
  return {
      {"ddp2", Join({Axes("replica: 2, data: 1"), kNoFsdp}), "llama", 2},
      {"ddp4_gpt2", Join({Axes("replica: 4, data: 1"), kNoFsdp}), "gpt2", 4},
      {"fsdp2", Axes("data: 2"), "llama", 2},
      {"fsdp4", Axes("data: 4"), "llama", 4},
      {"fsdp8_gpt2", Axes("data: 8"), "gpt2", 8},
      {"fsdp4_step", Join({Axes("data: 4"), step}), "llama", 4},
      {"fsdp2_gather_step", Join({Axes("data: 2"), "mesh.gather=step"}), "gpt2", 2},
      {"fsdp2_reduce_step", Join({Axes("data: 2"), "mesh.reduce=step"}), "llama", 2},
      {"hsdp2x2", Axes("replica: 2, data: 2"), "llama", 4},
      {"hsdp2x2_step", Join({Axes("replica: 2, data: 2"), step}), "gpt2", 4},
      {"zero1_4", Join({Axes("data: 4"), zero1}), "llama", 4},
      {"zero1_4_gpt2", Join({Axes("data: 4"), zero1}), "gpt2", 4},
      {"tp2", Axes("model: 2"), "llama", 2},
      {"tp4_kv_whole", Axes("model: 4"), "llama", 4},
      {"tp4_gpt2", Axes("model: 4"), "gpt2", 4},
      {"sp2", Join({Axes("model: 2"), kSp}), "llama", 2},
      {"sp4", Join({Axes("model: 4"), kSp}), "llama", 4},
      {"sp4_gpt2", Join({Axes("model: 4"), kSp}), "gpt2", 4},
      {"fsdp2_tp2", Axes("data: 2, model: 2"), "llama", 4},
      {"fsdp2_tp4", Axes("data: 2, model: 4"), "llama", 8},
      {"fsdp2_sp2", Join({Axes("data: 2, model: 2"), kSp}), "llama", 4},
      {"fsdp2_sp2_step_remat", Join({Axes("data: 2, model: 2"), kSp, step, remat}), "llama", 4},
      {"zero1_2_tp2", Join({Axes("data: 2, model: 2"), zero1}), "gpt2", 4},
      {"ddp2_tp2_gpt2", Join({Axes("replica: 2, data: 1, model: 2"), kNoFsdp}), "gpt2", 4},
      {"remat", Join({Axes("data: 1"), remat}), "llama", 1},
      {"remat_tp2", Join({Axes("model: 2"), remat}), "gpt2", 2},
      {"remat_fsdp2", Join({Axes("data: 2"), remat}), "llama", 2},
      {"pp2_1f1b", Axes("stage: 2"), "llama", 2},
      {"pp3_gpipe", Join({Axes("stage: 3"), gpipe}), "llama", 3},
      {"pp2_tied_gpt2", Axes("stage: 2"), "gpt2", 2},
      {"pp3_tied_gpipe", Join({Axes("stage: 3"), gpipe}), "gpt2", 3},
      {"pp2_uneven", Join({Axes("stage: 2"), "pipeline.layers_per_stage=[1, 2]"}), "tied", 2},
      {"pp2_fsdp2", Axes("stage: 2, data: 2"), "llama", 4},
      {"pp2_fsdp2_step", Join({Axes("stage: 2, data: 2"), step}), "gpt2", 4},
      {"pp2_tp2", Axes("stage: 2, model: 2"), "gpt2", 4},
      {"pp2_sp2_remat", Join({Axes("stage: 2, model: 2"), kSp, remat}), "llama", 4},
      {"pp2_zero1_2_tp2", Join({Axes("stage: 2, data: 2, model: 2"), zero1}), "gpt2", 8},
      {"pp2_fsdp2_tp2", Axes("stage: 2, data: 2, model: 2"), "llama", 8},
      {"dcn2_fsdp2", Axes("data: 2"), "llama", 4, 2},
      {"dcn2_fsdp2_tp2", Axes("data: 2, model: 2"), "gpt2", 8, 2},
      {"dcn2_zero1", Join({Axes("data: 2"), zero1}), "llama", 4, 2},
      {"vocab_whole_tp2", Join({Axes("model: 2"), "mesh.shared_mapping.vocab=null"}), "gpt2", 2},
  };
}

StatusOr<JobSpec> LayoutJob(const LayoutCase& layout) {
  std::vector<std::string> overrides = ModelOverrides(layout);
  for (std::string& part : Split(layout.overrides)) overrides.push_back(std::move(part));
  return ParseJob(BaseOf(layout), "layout.yaml", overrides);
}

StatusOr<JobSpec> OneRankJob(const LayoutCase& layout) {
  std::vector<std::string> overrides = ModelOverrides(layout);
  overrides.push_back("train.microbatch_size=8");
  return ParseJob(BaseOf(layout), "layout.yaml", overrides);
}

StatusOr<Topology> LayoutTopology(const LayoutCase& layout) {
  ASSIGN_OR_RETURN(const DeviceKind cpu, FindDeviceKind("cpu"));
  std::vector<Host> hosts;
  for (int64_t s = 0; s < layout.slices; ++s) {
    hosts.push_back({"host" + std::to_string(s), s, layout.devices / layout.slices});
  }
  return MakeTopology(cpu, hosts);
}

}  // namespace trireme
