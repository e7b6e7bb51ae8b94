// Llama: RMSNorm, rotary positions, grouped-query attention, SwiGLU. Touvron et al. 2023,
// arXiv:2302.13971; tensor names are Hugging Face's.
#include "coordinator/compiler/models/llama_parts.h"

namespace trireme {

StatusOr<Model> BuildLlama(const ModelContext& context, Purpose purpose) {
  const Graph block = LlamaBlock(context, "block", {}, [&](GraphBuilder& b, int h) {
    return std::vector<int>{SwigluMlp(b, context, h, std::string(kLlamaLayer) + "mlp.",
                                      context.spec.intermediate_size)};
  });
  return ChainOf(context, LlamaEmbedding(context), {block}, LlamaHead(context, purpose),
                 [](int) { return 0; });
}

}  // namespace trireme
