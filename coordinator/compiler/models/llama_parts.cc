// Parts of Llama, each a few nodes; see llama_parts.h.
#include "coordinator/compiler/models/llama_parts.h"

namespace trireme {

int RmsNorm(GraphBuilder& b, const ModelContext& context, const std::string& tensor, int x,
            const std::string& name) {
  b.SetRegion("residual");
  const int weight =
      b.Param(context.Vector(tensor, {context.Embed()}, "residual", InitKind::kOnes));
  return b.Add1("rms_norm", {{"eps", context.spec.norm_eps}}, {x, weight}, name);
}

int ProjectHeads(GraphBuilder& b, const ModelContext& context, int h, const std::string& name,
                 const Dim& heads) {
  const int w =
      b.Param(context.Matrix(std::string(kLlamaLayer) + "self_attn." + name + "_proj.weight",
                             {context.Embed(), heads, context.HeadDim()}, "attention", true));
  return b.Dot(h, w, {"batch", "position", heads.name, "head_dim"}, name);
}

int ProjectOut(GraphBuilder& b, const ModelContext& context, int o) {
  const int w = b.Param(context.Matrix(std::string(kLlamaLayer) + "self_attn.o_proj.weight",
                                       {context.Heads(), context.HeadDim(), context.Embed()},
                                       "attention", true));
  return b.Dot(o, w, {"batch", "position", "embed"}, "projected");
}

int AddToStream(GraphBuilder& b, int x, const std::vector<int>& branches, const std::string& branch,
                const std::string& name) {
  int sum = -1;
  for (const int one : branches) {
    const int back = b.Rename(one, "residual", {}, branch);
    b.SetRegion("residual");
    sum = sum < 0 ? back : b.Add1("add", {}, {sum, back}, branch + "_sum");
  }
  return b.Add1("add", {}, {x, sum}, name);
}

int AttentionBlock(GraphBuilder& b, const ModelContext& context, int x,
                   const AttentionBlockOptions& options) {
  const std::string layer = kLlamaLayer;
  const int normed = RmsNorm(b, context, layer + "input_layernorm.weight", x, "normed");
  const int h = b.Rename(normed, "attention", {}, "h");
  b.SetRegion("attention");
  int q = ProjectHeads(b, context, h, "q", context.Heads());
  int k = ProjectHeads(b, context, h, "k", context.KvHeads());
  const int v = ProjectHeads(b, context, h, "v", context.KvHeads());
  if (options.qk_norm) {
    const auto norm = [&](const std::string& name, int heads) {
      const int weight = b.Param(context.Vector(layer + "self_attn." + name + "_norm.weight",
                                                {context.HeadDim()}, "attention", InitKind::kOnes));
      return b.Add1("rms_norm", {{"eps", context.spec.norm_eps}}, {heads, weight},
                    name + "_normed");
    };
    q = norm("q", q);
    k = norm("k", k);
  }
  const int o = context.Attention(b, q, k, v, {.rope = true});
  return AddToStream(b, x, {ProjectOut(b, context, o)}, "projected_r", "x_mid");
}

int SwigluMlp(GraphBuilder& b, const ModelContext& context, int h, const std::string& prefix,
              int64_t width) {
  b.SetRegion("mlp");
  const Dim inner_dim = {"mlp", width};
  const auto matrix = [&](const std::string& name, const Dim& in, const Dim& out) {
    return b.Param(context.Matrix(prefix + name + "_proj.weight", {in, out}, "mlp", true));
  };
  const std::vector<std::string> inner_dims = {"batch", "position", "mlp"};
  const int gate = b.Dot(h, matrix("gate", context.Embed(), inner_dim), inner_dims, "gate");
  const int up = b.Dot(h, matrix("up", context.Embed(), inner_dim), inner_dims, "up");
  const int inner = b.Add1("swiglu", {}, {gate, up}, "inner");
  return b.Dot(inner, matrix("down", inner_dim, context.Embed()), {"batch", "position", "embed"},
               "mlp_out");
}

Graph LlamaEmbedding(const ModelContext& context) {
  Graph graph{.name = "embed"};
  GraphBuilder b(graph, Phase::kForward);
  b.SetRegion("head");
  const int tokens = b.Input("tokens", context.Tokens(), DType::kInt32);
  const int table = b.Param(context.Matrix("model.embed_tokens.weight",
                                           {context.Vocab(), context.Embed()}, "head", false));
  const int x = b.Add1("embed_lookup", {}, {table, tokens}, "embedded");
  graph.edges_out = {b.Rename(x, "residual", {}, "x")};
  return graph;
}

Graph LlamaBlock(const ModelContext& context, const std::string& name,
                 const AttentionBlockOptions& attention, const MlpBuilder& mlp) {
  Graph graph{.name = name};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context.Residual());
  const int x_mid = AttentionBlock(b, context, x, attention);
  const int normed =
      RmsNorm(b, context, std::string(kLlamaLayer) + "post_attention_layernorm.weight", x_mid,
              "normed_mlp");
  const int h = b.Rename(normed, "mlp", {}, "h_mlp");
  b.SetRegion("mlp");
  graph.edges_out = {AddToStream(b, x_mid, mlp(b, h), "mlp_r", "x_out")};
  return graph;
}

LogicalTensor LmHead(const ModelContext& context) {
  const bool tied = context.spec.tie_word_embeddings;
  return context.Matrix(tied ? "model.embed_tokens.weight" : "lm_head.weight",
                        {context.Vocab(), context.Embed()}, "head", /*decay=*/!tied);
}

Graph LlamaHead(const ModelContext& context, Purpose purpose) {
  Graph graph{.name = "head"};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context.Residual());
  const int h = RmsNorm(b, context, "model.norm.weight", x, "normed");
  context.Head(b, h, b.Param(LmHead(context)), purpose);
  return graph;
}

Model ChainOf(const ModelContext& context, Graph embedding, const std::vector<Graph>& variants,
              Graph head, const std::function<int(int layer)>& variant_of) {
  Model model;
  model.segments.push_back(std::move(embedding));
  model.chain.push_back({0, -1});
  std::vector<int> segment_of(variants.size(), -1);
  for (int layer = 0; layer < context.spec.num_hidden_layers; ++layer) {
    const int variant = variant_of(layer);
    if (segment_of[variant] < 0) {
      segment_of[variant] = static_cast<int>(model.segments.size());
      model.segments.push_back(variants[variant]);
    }
    model.chain.push_back({segment_of[variant], layer});
  }
  model.chain.push_back({static_cast<int>(model.segments.size()), -1});
  model.segments.push_back(std::move(head));
  return model;
}

}  // namespace trireme
