// DeepSeek's experts: dense blocks come first, the router's bias follows loads, and the shared MLP
// is added to what the experts give before either meets the stream.
#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

Model Build(const ModelSpec& spec, Purpose purpose = Purpose::kTrain) {
  StatusOr<Model> model = BuildModel(spec, {.batch = 4, .position = 6}, purpose);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// From the first tensor behind attention on.
std::string MlpTensors(const Graph& graph) {
  const std::string text = TensorsText(graph);
  return text.substr(text.find("model.layers.{layer}.mlp."));
}

TEST(DeepseekMoe, DenseBlocksComeFirst) {
  ModelSpec spec = TinyDeepseekMoe();
  EXPECT_EQ(ChainText(Build(spec)), "embed:-1 dense_block:0 block:1 head:-1 ");
  spec.num_hidden_layers = 4;
  spec.experts.first_k_dense = 3;
  EXPECT_EQ(ChainText(Build(spec)),
            "embed:-1 dense_block:0 dense_block:1 dense_block:2 block:3 head:-1 ");
  spec.experts.first_k_dense = 0;
  const Model model = Build(spec);
  EXPECT_EQ(ChainText(model), "embed:-1 block:0 block:1 block:2 block:3 head:-1 ");
  EXPECT_EQ(model.segments.size(), 3u) << "no segment that nobody uses";
}

TEST(DeepseekMoe, TensorsOfBothBlocks) {
  const Model model = Build(TinyDeepseekMoe());
  const std::string mlp = "model.layers.{layer}.mlp.";
  EXPECT_EQ(MlpTensors(model.segments[1]),
            mlp + "gate_proj.weight[embed 8, mlp 12] normal 0.02 decay @mlp\n" + mlp +
                "up_proj.weight[embed 8, mlp 12] normal 0.02 decay @mlp\n" + mlp +
                "down_proj.weight[mlp 12, embed 8] normal 0.02 decay @mlp\n");
  const std::string text = MlpTensors(model.segments[2]);
  EXPECT_EQ(text.find(mlp + "gate.weight[embed 8, router_expert 4] normal 0.02"), 0u) << text;
  EXPECT_EQ(
      text.substr(text.find('\n') + 1),
      mlp + "gate.e_score_correction_bias[router_expert 4] zeros follows sign @mlp\n" + mlp +
          "experts.gate_proj.weight[expert 4, embed 8, mlp 6] normal 0.02 decay @experts\n" + mlp +
          "experts.up_proj.weight[expert 4, embed 8, mlp 6] normal 0.02 decay @experts\n" + mlp +
          "experts.down_proj.weight[expert 4, mlp 6, embed 8] normal 0.02 decay @experts\n" + mlp +
          "shared_experts.gate_proj.weight[embed 8, mlp 10] normal 0.02 decay @mlp\n" + mlp +
          "shared_experts.up_proj.weight[embed 8, mlp 10] normal 0.02 decay @mlp\n" + mlp +
          "shared_experts.down_proj.weight[mlp 10, embed 8] normal 0.02 decay @mlp\n");
}

TEST(DeepseekMoe, RouterChoosesByBiasedScores) {
  const Graph block = Build(TinyDeepseekMoe()).segments[2];
  const Node& route = OnlyNode(block, "route");
  EXPECT_EQ(route.inputs.size(), 3u) << "logits, bias and segments";
  EXPECT_EQ(route.attrs.GetString("score"), "sigmoid");
  EXPECT_EQ(route.attrs.GetString("bias_to"), "scores");
  EXPECT_EQ(route.attrs.GetDouble("total"), 2.5);
  EXPECT_EQ(route.attrs.GetDouble("eps"), 1e-20);
  EXPECT_EQ(block.tensors[block.value(route.inputs[1]).tensor].balance_rate, 0.001);
}

TEST(DeepseekMoe, BranchesAreAddedBeforeTheyMeetTheStream) {
  const Graph block = Build(TinyDeepseekMoe()).segments[2];
  const Node& last = block.nodes.back();
  ASSERT_EQ(last.op, "add");
  EXPECT_EQ(last.outputs[0], block.edges_out[0]);
  EXPECT_EQ(block.value(last.inputs[0]).name, "x_mid");
  EXPECT_EQ(block.value(last.inputs[1]).name, "mlp_r_sum");
  EXPECT_EQ(block.value(last.inputs[1]).region, "residual");
}

TEST(DeepseekMoe, WithoutSharedExpertsThereIsNoSharedMlp) {
  ModelSpec spec = TinyDeepseekMoe();
  spec.experts.shared_width = 0;
  const Graph block = Build(spec).segments[2];
  EXPECT_EQ(TensorsText(block).find("shared_experts"), std::string::npos);
  EXPECT_EQ(CountNodes(block, "add", Phase::kForward), 2) << "attention and experts";
}

TEST(DeepseekMoe, DenseBlocksContributeNothing) {
  const Model model = Build(TinyDeepseekMoe());
  EXPECT_TRUE(model.segments[1].contributions.empty());
  EXPECT_FALSE(model.segments[2].contributions.empty());
  EXPECT_EQ(model.segments[2].loss, -1) << "balanced by its bias alone unless asked";
}

}  // namespace
}  // namespace trireme
