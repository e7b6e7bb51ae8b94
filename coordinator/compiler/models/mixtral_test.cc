// Mixtral: the tensors of its block, how its router is made and judged, and what generating leaves
// out.
#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

Model Build(const ModelSpec& spec, Purpose purpose = Purpose::kTrain) {
  StatusOr<Model> model = BuildModel(spec, {.batch = 4, .position = 6}, purpose);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(Mixtral, ChainIsEmbedBlocksHead) {
  EXPECT_EQ(ChainText(Build(TinyMoe())), "embed:-1 block:0 block:1 head:-1 ");
}

TEST(Mixtral, ExpertsReplaceTheMlp) {
  const std::string text = TensorsText(Build(TinyMoe()).segments[1]);
  const std::string prefix = "model.layers.{layer}.block_sparse_moe.";
  EXPECT_NE(text.find(prefix + "gate.weight[embed 8, router_expert 4] normal 0.02"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.substr(text.find(prefix + "experts.")),
            prefix + "experts.gate_proj.weight[expert 4, embed 8, mlp 12] normal 0.02 decay " +
                "@experts\n" + prefix +
                "experts.up_proj.weight[expert 4, embed 8, mlp 12] normal 0.02 decay @experts\n" +
                prefix +
                "experts.down_proj.weight[expert 4, mlp 12, embed 8] normal 0.02 decay @experts\n");
  EXPECT_EQ(text.find(".mlp."), std::string::npos);
  EXPECT_NE(text.find("model.layers.{layer}.self_attn.q_proj.weight[embed 8, heads 4, head_dim 2]"),
            std::string::npos);
}

TEST(Mixtral, RouterIsSoftmaxWithoutABias) {
  const Graph block = Build(TinyMoe()).segments[1];
  const Node& route = OnlyNode(block, "route");
  EXPECT_EQ(route.inputs.size(), 2u) << "logits and segments";
  EXPECT_EQ(route.attrs.GetInt("k"), 2);
  EXPECT_EQ(route.attrs.GetString("score"), "softmax");
  EXPECT_EQ(route.attrs.GetString("bias_to"), "none");
  EXPECT_EQ(route.attrs.GetInt("renormalise"), 1);
  EXPECT_EQ(route.attrs.GetDouble("total"), 1.0);
}

TEST(Mixtral, RouterHasBothLosses) {
  const Graph block = Build(TinyMoe()).segments[1];
  const Node& loss = OnlyNode(block, "router_loss");
  EXPECT_EQ(loss.attrs.GetDouble("balance"), 0.01);
  EXPECT_EQ(loss.attrs.GetDouble("z"), 0.001);
  EXPECT_EQ(loss.attrs.GetInt("group"), 1);
  EXPECT_EQ(block.loss, loss.outputs[0]);
}

TEST(Mixtral, WithoutCoefficientsItHasNoLossButStatistics) {
  ModelSpec spec = TinyMoe();
  spec.experts.aux_loss_coef = spec.experts.z_loss_coef = 0;
  const Graph block = Build(spec).segments[1];
  EXPECT_EQ(block.loss, -1);
  EXPECT_EQ(CountNodes(block, "router_stats", Phase::kForward), 1);
  for (const Contribution& contribution : block.contributions) {
    EXPECT_EQ(contribution.to, "router_stats");
  }
}

TEST(Mixtral, GroupsAreThoseOfTheJob) {
  const StatusOr<Model> model = BuildModel(TinyMoe(), {.balance_group_sequences = 2},
                                           {.batch = 4, .position = 6}, Purpose::kTrain);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(OnlyNode(model->segments[1], "router_stats").attrs.GetInt("group"), 2);
}

TEST(Mixtral, GeneratingLeavesOutLossAndStatistics) {
  const Graph block = Build(TinyMoe(), Purpose::kGenerate).segments[1];
  EXPECT_EQ(CountNodes(block, "route", Phase::kForward), 1);
  EXPECT_EQ(CountNodes(block, "router_loss", Phase::kForward), 0);
  EXPECT_EQ(CountNodes(block, "router_stats", Phase::kForward), 0);
}

}  // namespace
}  // namespace trireme
