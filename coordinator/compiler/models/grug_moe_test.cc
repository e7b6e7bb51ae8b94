// Grug: which layers are long, what each kind of block attends to, the gates, and every tensor.
#include <gtest/gtest.h>

#include <cmath>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

Model Build(const ModelSpec& spec, Purpose purpose = Purpose::kTrain) {
  StatusOr<Model> model = BuildModel(spec, {.batch = 4, .position = 6}, purpose);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

Graph Segment(const Model& model, const std::string& name) {
  for (const Graph& segment : model.segments) {
    if (segment.name == name) return segment;
  }
  ADD_FAILURE() << "no segment " << name;
  return Graph();
}

TEST(GrugMoe, EveryFourthAndTheLastLayerAreLong) {
  ModelSpec spec = TinyGrugMoe();
  EXPECT_EQ(ChainText(Build(spec)), "embed:-1 block:0 long_block:1 head:-1 ");
  spec.num_hidden_layers = 6;
  EXPECT_EQ(ChainText(Build(spec)),
            "embed:-1 block:0 block:1 block:2 long_block:3 block:4 long_block:5 head:-1 ");
  spec.num_hidden_layers = 1;
  EXPECT_EQ(ChainText(Build(spec)), "embed:-1 long_block:0 head:-1 ");
}

TEST(GrugMoe, ShortBlocksHaveAWindowAndTurnHalfOfEachHead) {
  const Graph block = Segment(Build(TinyGrugMoe()), "block");
  EXPECT_EQ(OnlyNode(block, "attention").attrs.GetInt("window"), 3);
  ASSERT_EQ(CountNodes(block, "rope", Phase::kForward), 2);
  for (const Node& node : block.nodes) {
    if (node.op != "rope") continue;
    EXPECT_EQ(node.attrs.GetInt("rotary_dim"), 2);
  }
}

TEST(GrugMoe, LongBlocksSeeEverythingAndTurnNothing) {
  const Graph block = Segment(Build(TinyGrugMoe()), "long_block");
  EXPECT_EQ(OnlyNode(block, "attention").attrs.GetInt("window", 0), 0);
  EXPECT_EQ(CountNodes(block, "rope", Phase::kForward), 0);
}

// Both kinds have the same tensors: a layer's kind is no part of a checkpoint.
TEST(GrugMoe, BothKindsHaveTheSameTensors) {
  const Model model = Build(TinyGrugMoe());
  EXPECT_EQ(TensorsText(Segment(model, "block")), TensorsText(Segment(model, "long_block")));
}

TEST(GrugMoe, HeadsAreNormedWithoutWeightsAndMultipliedInTheScale) {
  const Graph block = Segment(Build(TinyGrugMoe()), "block");
  int bare = 0;
  for (const Node& node : block.nodes) {
    if (node.op != "rms_norm" || node.inputs.size() != 1) continue;
    ++bare;
    EXPECT_EQ(node.attrs.GetDouble("eps"), 1e-6);
  }
  EXPECT_EQ(bare, 2);
  EXPECT_DOUBLE_EQ(OnlyNode(block, "attention").attrs.GetDouble("scale"), 1.3 / std::sqrt(4.0));
}

// y - (y.v)v / |v|^2 uses the values where the queries are, not where keys are gathered.
TEST(GrugMoe, ExclusiveAttentionReadsValuesAtTheirPositions) {
  const Graph block = Segment(Build(TinyGrugMoe()), "block");
  const Node& xsa = OnlyNode(block, "xsa");
  EXPECT_EQ(xsa.attrs.GetInt("query_group"), 2);
  EXPECT_EQ(xsa.inputs[0], OnlyNode(block, "attention").outputs[0]);
  EXPECT_EQ(ToText(block.value(xsa.inputs[1]).dims),
            "[batch 4, position 6, kv_heads 2, head_dim 4]");
}

// A gate of 2 sigmoid(0) = 1 each at the start.
TEST(GrugMoe, HeadGatesMultiplyWholeHeads) {
  const Graph block = Segment(Build(TinyGrugMoe()), "block");
  int gates = 0;
  for (const Node& node : block.nodes) {
    if (node.op != "mul" || node.attrs.GetInt("leading", 0) == 0) continue;
    ++gates;
    EXPECT_EQ(ToText(block.value(node.inputs[1]).dims), "[batch 4, position 6, heads 4]");
  }
  EXPECT_EQ(gates, 1);
  EXPECT_EQ(OnlyNode(block, "scale").attrs.GetDouble("factor"), 2.0);
}

TEST(GrugMoe, TensorsOfABlock) {
  const std::string text = TensorsText(Segment(Build(TinyGrugMoe()), "block"));
  const std::string layer = "model.layers.{layer}.";
  const size_t router = text.find(layer + "mlp.router.weight");
  ASSERT_NE(router, std::string::npos) << text;
  EXPECT_EQ(
      text.substr(0, router),
      layer + "input_layernorm.weight[embed 8] ones @residual\n" + layer +
          "attn_gated_norm.down_proj.weight[embed 8, gate_rank 5] truncated 0.02 decay "
          "@residual\n" +
          layer +
          "attn_gated_norm.up_proj.weight[gate_rank 5, embed 8] truncated 0.02 decay @residual\n" +
          layer +
          "self_attn.q_proj.weight[embed 8, heads 4, head_dim 4] truncated 0.02 decay "
          "@attention\n" +
          layer +
          "self_attn.k_proj.weight[embed 8, kv_heads 2, head_dim 4] truncated 0.02 decay "
          "@attention\n" +
          layer +
          "self_attn.v_proj.weight[embed 8, kv_heads 2, head_dim 4] truncated 0.02 decay "
          "@attention\n" +
          layer + "self_attn.attn_gate.weight[embed 8, heads 4] zeros decay @attention\n" + layer +
          "self_attn.o_proj.weight[heads 4, head_dim 4, embed 8] truncated 0.02 decay "
          "@attention\n" +
          layer + "post_attention_layernorm.weight[embed 8] ones @residual\n" + layer +
          "mlp_gated_norm.down_proj.weight[embed 8, gate_rank 5] truncated 0.02 decay @residual\n" +
          layer +
          "mlp_gated_norm.up_proj.weight[gate_rank 5, embed 8] truncated 0.02 decay @residual\n");
  EXPECT_EQ(
      text.substr(text.find('\n', router) + 1),
      layer + "mlp.router.bias[router_expert 4] zeros follows quantile @mlp\n" + layer +
          "mlp.experts.gate_proj.weight[expert 4, embed 8, mlp 6] truncated 0.02 decay @experts\n" +
          layer +
          "mlp.experts.up_proj.weight[expert 4, embed 8, mlp 6] truncated 0.02 decay @experts\n" +
          layer +
          "mlp.experts.down_proj.weight[expert 4, mlp 6, embed 8] truncated 0.02 decay @experts\n" +
          layer + "shared_expert.gate_proj.weight[embed 8, mlp 8] truncated 0.02 decay @mlp\n" +
          layer + "shared_expert.up_proj.weight[embed 8, mlp 8] truncated 0.02 decay @mlp\n" +
          layer + "shared_expert.down_proj.weight[mlp 8, embed 8] truncated 0.02 decay @mlp\n");
}

TEST(GrugMoe, TensorsOfTheEnds) {
  const Model model = Build(TinyGrugMoe());
  EXPECT_EQ(TensorsText(model.segments.front()),
            "model.embed_tokens.weight[vocab 10, embed 8] truncated 0.02 @head\n"
            "model.embed_norm.weight[embed 8] ones @residual\n"
            "model.embed_gated_norm.down_proj.weight[embed 8, gate_rank 5] truncated 0.02 decay "
            "@residual\n"
            "model.embed_gated_norm.up_proj.weight[gate_rank 5, embed 8] truncated 0.02 decay "
            "@residual\n");
  EXPECT_EQ(TensorsText(model.segments.back()),
            "model.norm.weight[embed 8] ones @residual\n"
            "model.final_gated_norm.down_proj.weight[embed 8, gate_rank 5] truncated 0.02 decay "
            "@residual\n"
            "model.final_gated_norm.up_proj.weight[gate_rank 5, embed 8] truncated 0.02 decay "
            "@residual\n"
            "lm_head.weight[vocab 10, embed 8] truncated 0.02 decay @head\n");
}

TEST(GrugMoe, RouterChoosesByBiasedLogits) {
  const Graph block = Segment(Build(TinyGrugMoe()), "block");
  const Attrs& attrs = OnlyNode(block, "route").attrs;
  EXPECT_EQ(attrs.GetString("score"), "sigmoid");
  EXPECT_EQ(attrs.GetString("bias_to"), "logits");
  EXPECT_EQ(attrs.GetDouble("total"), 2.5);
  EXPECT_EQ(attrs.GetDouble("eps"), 1e-9);
  EXPECT_EQ(block.loss, -1);
  EXPECT_EQ(OnlyNode(block, "router_stats").inputs.size(), 5u) << "with the bias";
}

TEST(GrugMoe, GeneratesWithTheSameTensors) {
  const Model train = Build(TinyGrugMoe());
  const Model generate = Build(TinyGrugMoe(), Purpose::kGenerate);
  ASSERT_EQ(train.segments.size(), generate.segments.size());
  for (size_t i = 0; i < train.segments.size(); ++i) {
    EXPECT_EQ(TensorsText(train.segments[i]), TensorsText(generate.segments[i]));
  }
  EXPECT_EQ(ToText(generate.segments.back().value(generate.segments.back().edges_out[0]).dims),
            "[batch 4, position 6, vocab 10]");
}

}  // namespace
}  // namespace trireme
