// Qwen3 with experts: as Mixtral, with a norm of every query and key head before the rotation.
// Yang et al. 2025, arXiv:2505.09388; tensor names are Hugging Face's, experts stacked.
#include "coordinator/compiler/models/llama_parts.h"

namespace trireme {

StatusOr<Model> BuildQwen3Moe(const ModelContext& context, Purpose purpose) {
  const std::string prefix = std::string(kLlamaLayer) + "mlp.";
  const Graph block = LlamaBlock(context, "block", {.qk_norm = true}, [&](GraphBuilder& b, int h) {
    return std::vector<int>{
        MixtureOfExperts(b, context, h, {.weight = prefix + "gate.weight"}, prefix + "experts.")};
  });
  return ChainOf(context, LlamaEmbedding(context), {block}, LlamaHead(context, purpose),
                 [](int) { return 0; });
}

}  // namespace trireme
