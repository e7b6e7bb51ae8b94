// Mixtral: Llama whose MLPs are experts behind a softmax router; the weights of the chosen add up
// to 1. Jiang et al. 2024, arXiv:2401.04088; tensor names are Hugging Face's, experts stacked.
#include "coordinator/compiler/models/llama_parts.h"

namespace trireme {

StatusOr<Model> BuildMixtral(const ModelContext& context, Purpose purpose) {
  const std::string prefix = std::string(kLlamaLayer) + "block_sparse_moe.";
  const Graph block = LlamaBlock(context, "block", {}, [&](GraphBuilder& b, int h) {
    return std::vector<int>{
        MixtureOfExperts(b, context, h, {.weight = prefix + "gate.weight"}, prefix + "experts.")};
  });
  return ChainOf(context, LlamaEmbedding(context), {block}, LlamaHead(context, purpose),
                 [](int) { return 0; });
}

}  // namespace trireme
