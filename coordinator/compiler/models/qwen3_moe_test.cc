// Qwen3 with experts: norms of heads come before the rotation, and names are its own.
#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

Graph Block(const ModelSpec& spec, Purpose purpose = Purpose::kTrain) {
  const StatusOr<Model> model = BuildModel(spec, {.batch = 4, .position = 6}, purpose);
  EXPECT_TRUE(model.ok()) << model.status();
  return model->segments[1];
}

bool HasTensor(const Graph& graph, const std::string& line) {
  return TensorsText(graph).find(line + "\n") != std::string::npos;
}

TEST(Qwen3Moe, TensorsOfABlock) {
  const Graph block = Block(TinyQwen3Moe());
  const std::string layer = "model.layers.{layer}.";
  for (const char* const line :
       {"self_attn.q_norm.weight[head_dim 2] ones @attention",
        "self_attn.k_norm.weight[head_dim 2] ones @attention",
        "mlp.experts.gate_proj.weight[expert 4, embed 8, mlp 12] normal 0.02 decay @experts",
        "mlp.experts.up_proj.weight[expert 4, embed 8, mlp 12] normal 0.02 decay @experts",
        "mlp.experts.down_proj.weight[expert 4, mlp 12, embed 8] normal 0.02 decay @experts"}) {
    EXPECT_TRUE(HasTensor(block, layer + line)) << line << "\n" << TensorsText(block);
  }
  EXPECT_NE(TensorsText(block).find(layer + "mlp.gate.weight[embed 8, router_expert 4]"),
            std::string::npos);
}

TEST(Qwen3Moe, HeadsAreNormedBeforeTheyAreRotated) {
  const Graph block = Block(TinyQwen3Moe());
  EXPECT_EQ(CountNodes(block, "rms_norm", Phase::kForward), 4) << "of the stream 2, of q and k";
  int rotated = 0;
  for (const Node& node : block.nodes) {
    if (node.op != "rope") continue;
    ++rotated;
    const Value& x = block.value(node.inputs[0]);
    EXPECT_TRUE(x.name == "q_normed" || x.name == "k_normed") << x.name;
  }
  EXPECT_EQ(rotated, 2);
}

TEST(Qwen3Moe, WeightsAreDividedByTheirSumOnlyWhereTheJobSays) {
  ModelSpec spec = TinyQwen3Moe();
  EXPECT_EQ(OnlyNode(Block(spec), "route").attrs.GetInt("renormalise"), 1);
  spec.experts.norm_topk_prob = false;
  EXPECT_EQ(OnlyNode(Block(spec), "route").attrs.GetInt("renormalise"), 0);
}

TEST(Qwen3Moe, HasABalanceLossAlone) {
  const Graph block = Block(TinyQwen3Moe());
  EXPECT_EQ(OnlyNode(block, "router_loss").attrs.GetDouble("z"), 0);
  EXPECT_EQ(OnlyNode(block, "router_loss").attrs.GetDouble("balance"), 0.01);
}

TEST(Qwen3Moe, GeneratesWithTheSameTensors) {
  EXPECT_EQ(TensorsText(Block(TinyQwen3Moe(), Purpose::kGenerate)),
            TensorsText(Block(TinyQwen3Moe())));
}

}  // namespace
}  // namespace trireme
