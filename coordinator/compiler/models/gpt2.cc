// GPT-2: learned positions, LayerNorm and biases, GELU, tied embeddings. Radford et al. 2019;
// tensor names follow Hugging Face's, with q, k and v apart so that heads can be split.
#include <cmath>

#include "coordinator/compiler/models/model.h"

namespace trireme {
namespace {

constexpr char kLayer[] = "transformer.h.{layer}.";

LogicalTensor TokenTable(const ModelContext& context) {
  return context.Matrix("transformer.wte.weight", {context.Vocab(), context.Embed()}, "head",
                        false);
}

Graph Embedding(const ModelContext& context) {
  Graph graph{.name = "embed"};
  GraphBuilder b(graph, Phase::kForward);
  b.SetRegion("head");
  const int tokens = b.Input("tokens", context.Tokens(), DType::kInt32);
  const int table = b.Param(TokenTable(context));
  const int embedded = b.Add1("embed_lookup", {}, {table, tokens}, "embedded");
  const int x = b.Rename(embedded, "residual", {}, "embedded_r");
  b.SetRegion("residual");
  const int positions = b.Input("positions", context.Tokens(), DType::kInt32);
  const Dim max_position = {"max_position", context.spec.max_position_embeddings};
  const int position_table = b.Param(
      context.Matrix("transformer.wpe.weight", {max_position, context.Embed()}, "residual", false));
  const int p = b.Add1("embed_lookup", {}, {position_table, positions}, "position_embedded");
  graph.edges_out = {b.Add1("add", {}, {x, p}, "x")};
  return graph;
}

int LayerNorm(GraphBuilder& b, const ModelContext& context, const std::string& name, int x) {
  b.SetRegion("residual");
  const int w =
      b.Param(context.Vector(name + ".weight", {context.Embed()}, "residual", InitKind::kOnes));
  const int bias =
      b.Param(context.Vector(name + ".bias", {context.Embed()}, "residual", InitKind::kZeros));
  return b.Add1("layer_norm", {{"eps", context.spec.norm_eps}}, {x, w, bias}, "normed");
}

// The row-parallel projection's bias is added after the partial sums are resolved, in the residual
// stream.
int AddToResidual(GraphBuilder& b, const ModelContext& context, const std::string& name, int x,
                  int y) {
  const int back = b.Rename(y, "residual", {}, "branch");
  b.SetRegion("residual");
  const int bias =
      b.Param(context.Vector(name + ".bias", {context.Embed()}, "residual", InitKind::kZeros));
  return b.Add1("add", {}, {b.Add1("add", {}, {x, back}, "sum"), bias}, "x");
}

int Attention(GraphBuilder& b, const ModelContext& context, int x, double residual_scale) {
  const std::string prefix = std::string(kLayer) + "attn.";
  const int h =
      b.Rename(LayerNorm(b, context, std::string(kLayer) + "ln_1", x), "attention", {}, "h");
  b.SetRegion("attention");
  const auto project = [&](const std::string& name, const Dim& heads) {
    const std::vector<Dim> out = {heads, context.HeadDim()};
    const int w =
        b.Param(context.Matrix(prefix + name + "_proj.weight",
                               {context.Embed(), heads, context.HeadDim()}, "attention", true));
    const int bias =
        b.Param(context.Vector(prefix + name + "_proj.bias", out, "attention", InitKind::kZeros));
    const int y = b.Dot(h, w, {"batch", "position", heads.name, "head_dim"}, name);
    return b.Add1("add", {}, {y, bias}, name + "_biased");
  };
  const int q = project("q", context.Heads());
  const int k = project("k", context.KvHeads());
  const int v = project("v", context.KvHeads());
  const int o = context.Attention(b, q, k, v, {.rope = false});
  const int w = b.Param(context.Matrix(prefix + "c_proj.weight",
                                       {context.Heads(), context.HeadDim(), context.Embed()},
                                       "attention", true, residual_scale));
  const int y = b.Dot(o, w, {"batch", "position", "embed"}, "projected");
  return AddToResidual(b, context, prefix + "c_proj", x, y);
}

int Mlp(GraphBuilder& b, const ModelContext& context, int x, double residual_scale) {
  const std::string prefix = std::string(kLayer) + "mlp.";
  const int h =
      b.Rename(LayerNorm(b, context, std::string(kLayer) + "ln_2", x), "mlp", {}, "h_mlp");
  b.SetRegion("mlp");
  const int w_in = b.Param(
      context.Matrix(prefix + "c_fc.weight", {context.Embed(), context.Mlp()}, "mlp", true));
  const int bias =
      b.Param(context.Vector(prefix + "c_fc.bias", {context.Mlp()}, "mlp", InitKind::kZeros));
  const int inner =
      b.Add1("add", {}, {b.Dot(h, w_in, {"batch", "position", "mlp"}, "fc"), bias}, "fc_biased");
  const int active = b.Add1("map", {{"kind", std::string("gelu_tanh")}}, {inner}, "gelu");
  const int w_out = b.Param(context.Matrix(
      prefix + "c_proj.weight", {context.Mlp(), context.Embed()}, "mlp", true, residual_scale));
  const int y = b.Dot(active, w_out, {"batch", "position", "embed"}, "mlp_out");
  return AddToResidual(b, context, prefix + "c_proj", x, y);
}

Graph Block(const ModelContext& context) {
  Graph graph{.name = "block"};
  GraphBuilder b(graph, Phase::kForward);
  const double residual_scale =
      1.0 / std::sqrt(2.0 * static_cast<double>(context.spec.num_hidden_layers));
  const int x = b.EdgeIn("x", context.Residual());
  graph.edges_out = {Mlp(b, context, Attention(b, context, x, residual_scale), residual_scale)};
  return graph;
}

Graph Head(const ModelContext& context, Purpose purpose) {
  Graph graph{.name = "head"};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context.Residual());
  const int h = LayerNorm(b, context, "transformer.ln_f", x);
  LogicalTensor table = TokenTable(context);
  if (!context.spec.tie_word_embeddings) {
    table.name = "lm_head.weight";
    table.decay = true;
  }
  context.Head(b, h, b.Param(table), purpose);
  return graph;
}

}  // namespace

StatusOr<Model> BuildGpt2(const ModelContext& context, Purpose purpose) {
  Model model;
  model.segments = {Embedding(context), Block(context), Head(context, purpose)};
  model.chain.push_back({0, -1});
  for (int i = 0; i < context.spec.num_hidden_layers; ++i) model.chain.push_back({1, i});
  model.chain.push_back({2, -1});
  return model;
}

}  // namespace trireme
