// Marin's Grug MoE: gated norms, blocks of windowed attention with a half rotation between blocks
// that see everything and rotate nothing, exclusive self-attention, head gates, and experts beside
// a shared MLP behind a sigmoid router that is kept balanced by quantiles of its logits. Source:
// experiments/grug/moe/model.py of marin-community/marin @00804986; tensor names are those of its
// export, experts stacked.
#include "coordinator/compiler/models/llama_parts.h"

namespace trireme {
namespace {

constexpr double kHeadNormEps = 1e-6;

// n * sigmoid(silu(n down) up), in region residual, by `prefix`{down,up}_proj.weight.
int GatedNorm(GraphBuilder& b, const ModelContext& context, const std::string& prefix, int normed,
              const std::string& name) {
  const Dim rank = {"gate_rank", context.spec.gated_norm_rank};
  const auto matrix = [&](const std::string& which, const Dim& in, const Dim& out) {
    return b.Param(
        context.Matrix(prefix + which + "_proj.weight", {in, out}, "residual", /*decay=*/true));
  };
  const int down = b.Dot(normed, matrix("down", context.Embed(), rank),
                         {"batch", "position", "gate_rank"}, name + "_down");
  const int active = b.Add1("map", {{"kind", std::string("silu")}}, {down}, name + "_active");
  const int up = b.Dot(active, matrix("up", rank, context.Embed()), {"batch", "position", "embed"},
                       name + "_up");
  const int gate = b.Add1("map", {{"kind", std::string("sigmoid")}}, {up}, name + "_gate");
  return b.Add1("mul", {}, {normed, gate}, name);
}

Graph Embedding(const ModelContext& context) {
  Graph graph = LlamaEmbedding(context);
  GraphBuilder b(graph, Phase::kForward);
  const int normed = RmsNorm(b, context, "model.embed_norm.weight", graph.edges_out[0], "normed");
  graph.edges_out = {GatedNorm(b, context, "model.embed_gated_norm.", normed, "gated")};
  return graph;
}

// Blocks of one kind. Long ones see every key before them, and rotate nothing.
struct AttentionKind {
  bool is_long = false;
};

int Attention(GraphBuilder& b, const ModelContext& context, int x, AttentionKind kind) {
  const std::string layer = kLlamaLayer;
  const ModelSpec& spec = context.spec;
  const int normed = RmsNorm(b, context, layer + "input_layernorm.weight", x, "normed");
  const int gated = GatedNorm(b, context, layer + "attn_gated_norm.", normed, "gated");
  const int h = b.Rename(gated, "attention", {}, "h");
  b.SetRegion("attention");
  const auto head_norm = [&](int heads, const std::string& name) {
    return b.Add1("rms_norm", {{"eps", kHeadNormEps}}, {heads}, name);
  };
  const int q = head_norm(ProjectHeads(b, context, h, "q", context.Heads()), "q_normed");
  const int k = head_norm(ProjectHeads(b, context, h, "k", context.KvHeads()), "k_normed");
  const int v = ProjectHeads(b, context, h, "v", context.KvHeads());
  AttentionOptions options = {.rope = false, .scale_mult = spec.qk_mult};
  if (!kind.is_long) {
    options.rope = true;
    options.rotary_dim = spec.head_dim / 2;
    options.window = spec.sliding_window;
  }
  int y = context.Attention(b, q, k, v, options);
  const Attrs xsa = {{"query_group", spec.num_attention_heads / spec.num_key_value_heads}};
  y = b.Add1("xsa", xsa, {y, v}, "exclusive");
  LogicalTensor head_gate =
      context.Vector(layer + "self_attn.attn_gate.weight", {context.Embed(), context.Heads()},
                     "attention", InitKind::kZeros);
  head_gate.decay = true;
  const int gate = b.Dot(h, b.Param(head_gate), {"batch", "position", "heads"}, "head_gate_in");
  const int open = b.Add1("map", {{"kind", std::string("sigmoid")}}, {gate}, "head_gate_half");
  const int twice = b.Add1("scale", {{"factor", 2.0}}, {open}, "head_gate");
  y = b.Add1("mul", {{"leading", int64_t{1}}}, {y, twice}, "head_gated");
  return AddToStream(b, x, {ProjectOut(b, context, y)}, "projected_r", "x_mid");
}

int Experts(GraphBuilder& b, const ModelContext& context, int x) {
  const std::string layer = kLlamaLayer;
  const int normed =
      RmsNorm(b, context, layer + "post_attention_layernorm.weight", x, "normed_mlp");
  const int gated = GatedNorm(b, context, layer + "mlp_gated_norm.", normed, "gated_mlp");
  const int h = b.Rename(gated, "mlp", {}, "h_mlp");
  b.SetRegion("mlp");
  const RouterDesign router = {.weight = layer + "mlp.router.weight",
                               .bias = layer + "mlp.router.bias",
                               .score = "sigmoid",
                               .bias_to = "logits",
                               .total = 2.5,
                               .eps = 1e-9,
                               .balance_rule = "quantile"};
  std::vector<int> branches = {MixtureOfExperts(b, context, h, router, layer + "mlp.experts.")};
  const int64_t shared = context.spec.experts.shared_width;
  if (shared > 0) {
    branches.push_back(SwigluMlp(b, context, h, layer + "shared_expert.", shared));
  }
  return AddToStream(b, x, branches, "mlp_r", "x_out");
}

Graph Block(const ModelContext& context, const std::string& name, AttentionKind kind) {
  Graph graph{.name = name};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context.Residual());
  graph.edges_out = {Experts(b, context, Attention(b, context, x, kind))};
  return graph;
}

Graph Head(const ModelContext& context, Purpose purpose) {
  Graph graph{.name = "head"};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context.Residual());
  const int normed = RmsNorm(b, context, "model.norm.weight", x, "normed");
  const int h = GatedNorm(b, context, "model.final_gated_norm.", normed, "gated");
  context.Head(b, h, b.Param(LmHead(context)), purpose);
  return graph;
}

}  // namespace

StatusOr<Model> BuildGrugMoe(const ModelContext& plain, Purpose purpose) {
  ModelContext context = plain;
  context.matrix_init = InitKind::kTruncatedNormal;
  const int64_t last = context.spec.num_hidden_layers - 1;
  return ChainOf(context, Embedding(context),
                 {Block(context, "block", {.is_long = false}),
                  Block(context, "long_block", {.is_long = true})},
                 Head(context, purpose),
                 [&](int layer) { return layer % 4 == 3 || layer == last ? 1 : 0; });
}

}  // namespace trireme
