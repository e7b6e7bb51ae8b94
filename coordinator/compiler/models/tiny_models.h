// Models small enough to read as text, for the tests of the compiler.
#ifndef TRIREME_COORDINATOR_COMPILER_MODELS_TINY_MODELS_H_
#define TRIREME_COORDINATOR_COMPILER_MODELS_TINY_MODELS_H_

#include <sstream>
#include <string>

#include "common/base/check.h"
#include "coordinator/compiler/models/model.h"

namespace trireme {

inline ModelSpec TinyLlama() {
  ModelSpec spec;
  spec.type = "llama";
  spec.hidden_size = 8;
  spec.intermediate_size = 12;
  spec.num_hidden_layers = 2;
  spec.num_attention_heads = 4;
  spec.num_key_value_heads = 2;
  spec.head_dim = 2;
  spec.vocab_size = 10;
  spec.max_position_embeddings = 16;
  return spec;
}

inline ModelSpec TinyGpt2() {
  ModelSpec spec = TinyLlama();
  spec.type = "gpt2";
  spec.num_key_value_heads = 4;
  spec.tie_word_embeddings = true;
  return spec;
}

inline ModelSpec TinyMoe() {
  ModelSpec spec = TinyLlama();
  spec.type = "mixtral";
  spec.experts = {.num_experts = 4,
                  .num_experts_per_tok = 2,
                  .width = 12,
                  .aux_loss_coef = 0.01,
                  .z_loss_coef = 0.001};
  return spec;
}

inline ModelSpec TinyQwen3Moe() {
  ModelSpec spec = TinyMoe();
  spec.type = "qwen3_moe";
  spec.intermediate_size = 0;
  spec.experts.z_loss_coef = 0;
  return spec;
}

// One dense block, then one with experts.
inline ModelSpec TinyDeepseekMoe() {
  ModelSpec spec = TinyLlama();
  spec.type = "deepseek_moe";
  spec.experts = {.num_experts = 4,
                  .num_experts_per_tok = 2,
                  .width = 6,
                  .shared_width = 10,
                  .first_k_dense = 1,
                  .routed_scaling_factor = 2.5,
                  .bias_update_rate = 0.001};
  return spec;
}

// One short block, then a long one.
inline ModelSpec TinyGrugMoe() {
  ModelSpec spec = TinyLlama();
  spec.type = "grug_moe";
  spec.intermediate_size = 0;
  spec.head_dim = 4;
  spec.experts = {.num_experts = 4, .num_experts_per_tok = 2, .width = 6, .shared_width = 8};
  spec.sliding_window = 3;
  spec.qk_mult = 1.3;
  spec.gated_norm_rank = 5;
  return spec;
}

// With the defaults of section moe.
inline StatusOr<Model> BuildModel(const ModelSpec& spec, const BatchShape& shape, Purpose purpose) {
  return BuildModel(spec, MoeSpec(), shape, purpose);
}

// One line a tensor: name, dims, initialiser, rule that it follows instead of a gradient, "decay"
// when weights decay, region.
inline std::string TensorsText(const Graph& graph) {
  std::ostringstream text;
  for (const LogicalTensor& tensor : graph.tensors) {
    text << tensor.name << ToText(tensor.dims);
    if (tensor.init == InitKind::kNormal) text << " normal " << tensor.init_std;
    if (tensor.init == InitKind::kTruncatedNormal) text << " truncated " << tensor.init_std;
    if (tensor.init == InitKind::kOnes) text << " ones";
    if (tensor.init == InitKind::kZeros) text << " zeros";
    if (!tensor.balance_rule.empty()) text << " follows " << tensor.balance_rule;
    text << (tensor.decay ? " decay" : "") << " @" << tensor.region << "\n";
  }
  return text.str();
}

// Nodes of `graph` in `phase` that run `op`.
inline int CountNodes(const Graph& graph, std::string_view op, Phase phase) {
  int count = 0;
  for (const Node& node : graph.nodes) count += node.op == op && node.phase == phase;
  return count;
}

// The only node of `graph` that runs `op`; CHECK-fails when there is another or none.
inline const Node& OnlyNode(const Graph& graph, std::string_view op) {
  const Node* found = nullptr;
  for (const Node& node : graph.nodes) {
    if (node.op != op) continue;
    CHECK(found == nullptr) << "two nodes run " << op;
    found = &node;
  }
  CHECK(found != nullptr) << "no node runs " << op;
  return *found;
}

// "embed:-1 block:0 ": segment and layer of each link.
inline std::string ChainText(const Model& model) {
  std::string text;
  for (const ChainLink& link : model.chain) {
    text += model.segments[link.segment].name + ":" + std::to_string(link.layer) + " ";
  }
  return text;
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_MODELS_TINY_MODELS_H_
