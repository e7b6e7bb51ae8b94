// The mixture of experts: its tensors, and how many slots an expert has.
#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

Graph Block(const ModelSpec& spec, const BatchShape& shape) {
  const StatusOr<Model> model = BuildModel(spec, shape, Purpose::kTrain);
  EXPECT_TRUE(model.ok()) << model.status();
  return model->segments[1];
}

int64_t Capacity(const ModelSpec& spec, const BatchShape& shape) {
  for (const Node& node : Block(spec, shape).nodes) {
    if (node.op == "dispatch") return node.attrs.GetInt("capacity");
  }
  return -1;
}

TEST(Moe, TensorsReplaceTheMlp) {
  const std::string text = TensorsText(Block(TinyMoe(), {4, 6}));
  EXPECT_EQ(text.substr(text.find("model.layers.{layer}.block_sparse_moe")),
            "model.layers.{layer}.block_sparse_moe.gate.weight[embed 8, router_expert 4] normal "
            "0.02 @mlp\n"
            "model.layers.{layer}.block_sparse_moe.experts.gate_proj.weight[expert 4, embed 8, mlp "
            "12] normal 0.02 decay "
            "@experts\n"
            "model.layers.{layer}.block_sparse_moe.experts.up_proj.weight[expert 4, embed 8, mlp "
            "12] normal 0.02 decay "
            "@experts\n"
            "model.layers.{layer}.block_sparse_moe.experts.down_proj.weight[expert 4, mlp 12, "
            "embed 8] normal 0.02 decay "
            "@experts\n");
  EXPECT_EQ(text.find(".mlp."), std::string::npos);
}

// Without a factor nothing is dropped, wherever all tokens go.
TEST(Moe, EveryTokenHasRoomWithoutAFactor) { EXPECT_EQ(Capacity(TinyMoe(), {4, 6}), 24); }

// factor * tokens * k / experts, up to what data shards divide, at most all tokens.
TEST(Moe, CapacityFollowsTheFactor) {
  ModelSpec spec = TinyMoe();
  spec.moe.num_experts_per_tok = 2;
  spec.moe.capacity_factor = 1.0;
  EXPECT_EQ(Capacity(spec, {4, 6, 1}), 12);
  EXPECT_EQ(Capacity(spec, {4, 6, 8}), 16);
  spec.moe.capacity_factor = 1.01;
  EXPECT_EQ(Capacity(spec, {4, 6, 1}), 13);
  spec.moe.capacity_factor = 100;
  EXPECT_EQ(Capacity(spec, {4, 6, 1}), 24);
}

}  // namespace
}  // namespace trireme
