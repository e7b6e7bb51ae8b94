// DeepSeek's experts: narrow ones behind a sigmoid router beside a shared MLP, kept balanced by a
// bias of the selection that follows the sign of each expert's load; the first blocks are dense.
// Dai et al. 2024, arXiv:2401.06066; Liu et al. 2024, arXiv:2412.19437 (2.1.2). Attention is
// Llama's. Tensor names are those of DeepSeek-V3 in Hugging Face, experts stacked.
#include "coordinator/compiler/models/llama_parts.h"

namespace trireme {

StatusOr<Model> BuildDeepseekMoe(const ModelContext& context, Purpose purpose) {
  const std::string prefix = std::string(kLlamaLayer) + "mlp.";
  const ExpertsSpec& experts = context.spec.experts;
  const Graph dense = LlamaBlock(context, "dense_block", {}, [&](GraphBuilder& b, int h) {
    return std::vector<int>{SwigluMlp(b, context, h, prefix, context.spec.intermediate_size)};
  });
  const RouterDesign router = {.weight = prefix + "gate.weight",
                               .bias = prefix + "gate.e_score_correction_bias",
                               .score = "sigmoid",
                               .bias_to = "scores",
                               .total = experts.routed_scaling_factor,
                               .eps = 1e-20,
                               .balance_rule = "sign"};
  const Graph block = LlamaBlock(context, "block", {}, [&](GraphBuilder& b, int h) {
    std::vector<int> branches = {MixtureOfExperts(b, context, h, router, prefix + "experts.")};
    if (experts.shared_width > 0) {
      branches.push_back(
          SwigluMlp(b, context, h, prefix + "shared_experts.", experts.shared_width));
    }
    return branches;
  });
  return ChainOf(context, LlamaEmbedding(context), {dense, block}, LlamaHead(context, purpose),
                 [&](int layer) { return layer < experts.first_k_dense ? 0 : 1; });
}

}  // namespace trireme
