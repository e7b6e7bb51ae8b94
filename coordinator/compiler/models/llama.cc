// Llama: RMSNorm, rotary positions, grouped-query attention, SwiGLU. Touvron et al. 2023,
// arXiv:2302.13971; tensor names are Hugging Face's. With model.moe the MLP is a toy mixture of
// experts.
#include "coordinator/compiler/models/model.h"

namespace trireme {
namespace {

constexpr char kLayer[] = "model.layers.{layer}.";

Graph Embedding(const ModelContext& context) {
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

int AttentionBlock(GraphBuilder& b, const ModelContext& context, int x) {
  const Attrs eps = {{"eps", context.spec.norm_eps}};
  const std::string prefix = std::string(kLayer) + "self_attn.";
  b.SetRegion("residual");
  const int norm = b.Param(context.Vector(std::string(kLayer) + "input_layernorm.weight",
                                          {context.Embed()}, "residual", InitKind::kOnes));
  const int h = b.Rename(b.Add1("rms_norm", eps, {x, norm}, "normed"), "attention", {}, "h");
  b.SetRegion("attention");
  const auto project = [&](const std::string& name, const Dim& heads) {
    const int w =
        b.Param(context.Matrix(prefix + name + "_proj.weight",
                               {context.Embed(), heads, context.HeadDim()}, "attention", true));
    return b.Dot(h, w, {"batch", "position", heads.name, "head_dim"}, name);
  };
  const int q = project("q", context.Heads());
  const int k = project("k", context.KvHeads());
  const int v = project("v", context.KvHeads());
  const int o = context.Attention(b, q, k, v, /*rope=*/true);
  const int w = b.Param(context.Matrix(prefix + "o_proj.weight",
                                       {context.Heads(), context.HeadDim(), context.Embed()},
                                       "attention", true));
  const int y = b.Dot(o, w, {"batch", "position", "embed"}, "projected");
  const int back = b.Rename(y, "residual", {}, "projected_r");
  b.SetRegion("residual");
  return b.Add1("add", {}, {x, back}, "x_mid");
}

int SwigluMlp(GraphBuilder& b, const ModelContext& context, int h) {
  b.SetRegion("mlp");
  const std::string prefix = std::string(kLayer) + "mlp.";
  const auto matrix = [&](const std::string& name, const Dim& in, const Dim& out) {
    return b.Param(context.Matrix(prefix + name + "_proj.weight", {in, out}, "mlp", true));
  };
  const int gate = b.Dot(h, matrix("gate", context.Embed(), context.Mlp()),
                         {"batch", "position", "mlp"}, "gate");
  const int up =
      b.Dot(h, matrix("up", context.Embed(), context.Mlp()), {"batch", "position", "mlp"}, "up");
  const int inner = b.Add1("swiglu", {}, {gate, up}, "inner");
  return b.Dot(inner, matrix("down", context.Mlp(), context.Embed()),
               {"batch", "position", "embed"}, "mlp_out");
}

Graph Block(const ModelContext& context) {
  Graph graph{.name = "block"};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context.Residual());
  const int x_mid = AttentionBlock(b, context, x);
  const int norm = b.Param(context.Vector(std::string(kLayer) + "post_attention_layernorm.weight",
                                          {context.Embed()}, "residual", InitKind::kOnes));
  const int normed =
      b.Add1("rms_norm", {{"eps", context.spec.norm_eps}}, {x_mid, norm}, "normed_mlp");
  const int h = b.Rename(normed, "mlp", {}, "h_mlp");
  const int y = context.spec.moe.num_experts > 0 ? MoeMlp(b, context, h) : SwigluMlp(b, context, h);
  const int back = b.Rename(y, "residual", {}, "mlp_r");
  b.SetRegion("residual");
  graph.edges_out = {b.Add1("add", {}, {x_mid, back}, "x_out")};
  return graph;
}

Graph Head(const ModelContext& context, Purpose purpose) {
  Graph graph{.name = "head"};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context.Residual());
  b.SetRegion("residual");
  const int norm =
      b.Param(context.Vector("model.norm.weight", {context.Embed()}, "residual", InitKind::kOnes));
  const int h = b.Add1("rms_norm", {{"eps", context.spec.norm_eps}}, {x, norm}, "normed");
  const bool tied = context.spec.tie_word_embeddings;
  const int table =
      b.Param(context.Matrix(tied ? "model.embed_tokens.weight" : "lm_head.weight",
                             {context.Vocab(), context.Embed()}, "head", /*decay=*/!tied));
  context.Head(b, h, table, purpose);
  return graph;
}

}  // namespace

StatusOr<Model> BuildLlama(const ModelContext& context, Purpose purpose) {
  Model model;
  model.segments = {Embedding(context), Block(context), Head(context, purpose)};
  model.chain.push_back({0, -1});
  for (int i = 0; i < context.spec.num_hidden_layers; ++i) model.chain.push_back({1, i});
  model.chain.push_back({2, -1});
  return model;
}

}  // namespace trireme
