// Models small enough to read as text, for the tests of the compiler.
#ifndef TRIREME_COORDINATOR_COMPILER_MODELS_TINY_MODELS_H_
#define TRIREME_COORDINATOR_COMPILER_MODELS_TINY_MODELS_H_

#include <sstream>
#include <string>

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
  spec.moe.num_experts = 4;
  return spec;
}

// One line a tensor: name, dims, initialiser, "decay" when weights decay, region.
inline std::string TensorsText(const Graph& graph) {
  std::ostringstream text;
  for (const LogicalTensor& tensor : graph.tensors) {
    text << tensor.name << ToText(tensor.dims);
    if (tensor.init == InitKind::kNormal) text << " normal " << tensor.init_std;
    if (tensor.init == InitKind::kOnes) text << " ones";
    if (tensor.init == InitKind::kZeros) text << " zeros";
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

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_MODELS_TINY_MODELS_H_
