// The mixture of experts: its tensors, what a router hands on, and the sizes of the pools of rows.
#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

Graph Block(const ModelSpec& spec, const MoeSpec& moe, const BatchShape& shape,
            Purpose purpose = Purpose::kTrain) {
  const StatusOr<Model> model = BuildModel(spec, moe, shape, purpose);
  EXPECT_TRUE(model.ok()) << model.status();
  return model->segments[1];
}

Attrs Pools(const MoeSpec& moe, const BatchShape& shape, Purpose purpose = Purpose::kTrain) {
  for (const Node& node : Block(TinyMoe(), moe, shape, purpose).nodes) {
    if (node.op == "expert_mlp") return node.attrs;
  }
  ADD_FAILURE() << "no experts";
  return {};
}

TEST(Moe, TensorsReplaceTheMlp) {
  const std::string text = TensorsText(Block(TinyMoe(), {}, {4, 6}));
  EXPECT_EQ(text.substr(text.find("model.layers.{layer}.block_sparse_moe")),
            "model.layers.{layer}.block_sparse_moe.gate.weight[embed 8, router_expert 4] normal "
            "0.02 decay @mlp\n"
            "model.layers.{layer}.block_sparse_moe.experts.gate_proj.weight[expert 4, embed 8, mlp "
            "12] normal 0.02 decay @experts\n"
            "model.layers.{layer}.block_sparse_moe.experts.up_proj.weight[expert 4, embed 8, mlp "
            "12] normal 0.02 decay @experts\n"
            "model.layers.{layer}.block_sparse_moe.experts.down_proj.weight[expert 4, mlp 12, "
            "embed 8] normal 0.02 decay @experts\n");
}

// The router's loss, its sums, and two numbers of the exchange.
TEST(Moe, RoutersContributeWhenTrained) {
  const Graph train = Block(TinyMoe(), {}, {4, 6});
  EXPECT_GE(train.loss, 0);
  ASSERT_EQ(train.contributions.size(), 4u);
  EXPECT_EQ(train.contributions[0].to, "reduce");
  for (int i = 1; i < 4; ++i) EXPECT_EQ(train.contributions[i].to, "router_stats");
  const Graph generate = Block(TinyMoe(), {}, {4, 6}, Purpose::kGenerate);
  EXPECT_EQ(generate.loss, -1);
  EXPECT_TRUE(generate.contributions.empty());
}

// One part of the experts: every assignment has a row, once.
TEST(Moe, OnePoolHoldsEverythingOnOneRank) {
  const Attrs attrs = Pools({}, {4, 6});  // 24 tokens, 2 choices
  EXPECT_EQ(attrs.GetInt("capacity"), 48);
  EXPECT_EQ(attrs.GetInt("waves"), 1);
  EXPECT_EQ(attrs.GetInt("thin"), 0);
  EXPECT_EQ(attrs.GetDouble("fill"), 1.0);
}

// A quarter more than the even share, and waves for the worst case.
TEST(Moe, PoolsHaveSlackAndWavesHoldTheRest) {
  const Attrs ring = Pools({}, {4, 6, 4, 1, 4});  // 24 tokens for each of 4 parts of one expert
  EXPECT_EQ(ring.GetInt("capacity"), 15);         // ceil(1.25 * 48 / 4)
  EXPECT_EQ(ring.GetInt("waves"), 2);             // at most 24 assignments to one expert
  EXPECT_EQ(ring.GetDouble("fill"), 0.8);
  const Attrs sent = Pools({.dispatch = ExpertDispatch::kAllToAll}, {4, 6, 2, 1, 2});
  EXPECT_EQ(sent.GetInt("token_shards"), 2);
  EXPECT_EQ(sent.GetInt("capacity"), 15);  // ceil(1.25 * 24 / 2) of 12 tokens
  EXPECT_EQ(sent.GetInt("waves"), 2);      // 24 assignments may all go one way
}

// factor * tokens * k / parts, at most what can come; then nothing is thinned.
TEST(Moe, CapacityFollowsTheFactor) {
  const BatchShape shape = {4, 6, 2, 1, 2};  // 24 tokens, 48 assignments, at most 48 to 2 experts
  const Attrs tight = Pools({.capacity_factor = 1.0}, shape);
  EXPECT_EQ(tight.GetInt("capacity"), 24);
  EXPECT_EQ(tight.GetInt("waves"), 1);
  EXPECT_EQ(tight.GetInt("thin"), 1);
  EXPECT_EQ(Pools({.capacity_factor = 1.01}, shape).GetInt("capacity"), 25);
  const Attrs loose = Pools({.capacity_factor = 100}, shape);
  EXPECT_EQ(loose.GetInt("capacity"), 48);
  EXPECT_EQ(loose.GetInt("thin"), 0);
}

TEST(Moe, OnlyTrainingDrops) {
  const Attrs attrs = Pools({.capacity_factor = 0.5}, {4, 6}, Purpose::kGenerate);
  EXPECT_EQ(attrs.GetInt("capacity"), 48);
  EXPECT_EQ(attrs.GetInt("thin"), 0);
  EXPECT_EQ(Pools({.capacity_factor = 0.5}, {4, 6}).GetInt("capacity"), 24);
}

// Who places tensors refuses them; sizes are none that divide by zero until then.
TEST(Moe, MoreShardsThanExpertsOrTokens) {
  for (const double factor : {0.0, 1e-6, 1.0}) {
    const Attrs attrs = Pools({.capacity_factor = factor}, {1, 3, 8, 8, 8});
    EXPECT_EQ(attrs.GetInt("capacity"), 1) << factor;
    EXPECT_EQ(attrs.GetInt("waves"), 1) << factor;
  }
}

}  // namespace
}  // namespace trireme
