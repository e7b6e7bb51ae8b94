// Parts of Llama that architectures after it share: norms, attention, SwiGLU, embedding, head, and
// the chain. Tensors have Hugging Face's names.
#ifndef TRIREME_COORDINATOR_COMPILER_MODELS_LLAMA_PARTS_H_
#define TRIREME_COORDINATOR_COMPILER_MODELS_LLAMA_PARTS_H_

#include <functional>
#include <string>
#include <vector>

#include "coordinator/compiler/models/model.h"

namespace trireme {

// What the names of a block's tensors begin with.
inline constexpr char kLlamaLayer[] = "model.layers.{layer}.";

// RMSNorm over embed with the weight `tensor`, in region residual; the result is called `name`.
int RmsNorm(GraphBuilder& b, const ModelContext& context, const std::string& tensor, int x,
            const std::string& name);

// h [batch, position, embed] in region attention -> [batch, position, `heads`, head_dim], by the
// block's self_attn.`name`_proj.weight.
int ProjectHeads(GraphBuilder& b, const ModelContext& context, int h, const std::string& name,
                 const Dim& heads);
// What attention gives, through o_proj -> [batch, position, embed], in region attention.
int ProjectOut(GraphBuilder& b, const ModelContext& context, int o);

// x plus the branches, added up in region residual; branches first, so that their partial sums are
// resolved together.
int AddToStream(GraphBuilder& b, int x, const std::vector<int>& branches, const std::string& branch,
                const std::string& name);

struct AttentionBlockOptions {
  bool qk_norm = false;  // RMSNorm of each query and key head, by self_attn.{q,k}_norm.weight
};

// x plus attention of its norm.
int AttentionBlock(GraphBuilder& b, const ModelContext& context, int x,
                   const AttentionBlockOptions& options);

// h in region mlp -> the same shape, in region mlp, by `prefix`{gate,up,down}_proj.weight of inner
// width `width`.
int SwigluMlp(GraphBuilder& b, const ModelContext& context, int h, const std::string& prefix,
              int64_t width);

// What stands in a block after attention: `h` in region mlp -> branches to add to the stream.
using MlpBuilder = std::function<std::vector<int>(GraphBuilder& b, int h)>;

Graph LlamaEmbedding(const ModelContext& context);
Graph LlamaBlock(const ModelContext& context, const std::string& name,
                 const AttentionBlockOptions& attention, const MlpBuilder& mlp);
Graph LlamaHead(const ModelContext& context, Purpose purpose);

// The matrix of the LM head: the embedding's when they are tied.
LogicalTensor LmHead(const ModelContext& context);

// embedding, blocks, head. `variant_of` says which of `variants` a layer is; variants that no layer
// is are left out.
Model ChainOf(const ModelContext& context, Graph embedding, const std::vector<Graph>& variants,
              Graph head, const std::function<int(int layer)>& variant_of);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_MODELS_LLAMA_PARTS_H_
