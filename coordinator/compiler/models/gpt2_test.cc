// GPT-2 as segments: tensors with their initialisers, tied table.
#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

Model Build(const ModelSpec& spec) {
  StatusOr<Model> model = BuildModel(spec, {.batch = 4, .position = 6}, Purpose::kTrain);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// Projections back into the residual stream start smaller by sqrt(2 layers): 0.02 / sqrt(4) = 0.01.
TEST(Gpt2, TensorsOfEachSegment) {
  const Model model = Build(TinyGpt2());
  ASSERT_EQ(model.segments.size(), 3u);
  EXPECT_EQ(TensorsText(model.segments[0]),
            "transformer.wte.weight[vocab 10, embed 8] normal 0.02 @head\n"
            "transformer.wpe.weight[max_position 16, embed 8] normal 0.02 @residual\n");
  EXPECT_EQ(TensorsText(model.segments[1]),
            "transformer.h.{layer}.ln_1.weight[embed 8] ones @residual\n"
            "transformer.h.{layer}.ln_1.bias[embed 8] zeros @residual\n"
            "transformer.h.{layer}.attn.q_proj.weight[embed 8, heads 4, head_dim 2] normal 0.02 "
            "decay @attention\n"
            "transformer.h.{layer}.attn.q_proj.bias[heads 4, head_dim 2] zeros @attention\n"
            "transformer.h.{layer}.attn.k_proj.weight[embed 8, kv_heads 4, head_dim 2] normal 0.02 "
            "decay @attention\n"
            "transformer.h.{layer}.attn.k_proj.bias[kv_heads 4, head_dim 2] zeros @attention\n"
            "transformer.h.{layer}.attn.v_proj.weight[embed 8, kv_heads 4, head_dim 2] normal 0.02 "
            "decay @attention\n"
            "transformer.h.{layer}.attn.v_proj.bias[kv_heads 4, head_dim 2] zeros @attention\n"
            "transformer.h.{layer}.attn.c_proj.weight[heads 4, head_dim 2, embed 8] normal 0.01 "
            "decay @attention\n"
            "transformer.h.{layer}.attn.c_proj.bias[embed 8] zeros @residual\n"
            "transformer.h.{layer}.ln_2.weight[embed 8] ones @residual\n"
            "transformer.h.{layer}.ln_2.bias[embed 8] zeros @residual\n"
            "transformer.h.{layer}.mlp.c_fc.weight[embed 8, mlp 12] normal 0.02 decay @mlp\n"
            "transformer.h.{layer}.mlp.c_fc.bias[mlp 12] zeros @mlp\n"
            "transformer.h.{layer}.mlp.c_proj.weight[mlp 12, embed 8] normal 0.01 decay @mlp\n"
            "transformer.h.{layer}.mlp.c_proj.bias[embed 8] zeros @residual\n");
  EXPECT_EQ(TensorsText(model.segments[2]),
            "transformer.ln_f.weight[embed 8] ones @residual\n"
            "transformer.ln_f.bias[embed 8] zeros @residual\n"
            "transformer.wte.weight[vocab 10, embed 8] normal 0.02 @head\n");
}

TEST(Gpt2, UntiedHeadHasItsOwnDecayingTable) {
  ModelSpec spec = TinyGpt2();
  spec.tie_word_embeddings = false;
  const LogicalTensor table = Build(spec).segments[2].tensors.back();
  EXPECT_EQ(table.name, "lm_head.weight");
  EXPECT_TRUE(table.decay);
}

// Positions are learned: q and k are not rotated.
TEST(Gpt2, HasNoRope) {
  const Model model = Build(TinyGpt2());
  EXPECT_EQ(CountNodes(model.segments[1], "rope", Phase::kForward), 0);
  EXPECT_EQ(CountNodes(model.segments[1], "layer_norm", Phase::kForward), 2);
  EXPECT_EQ(CountNodes(model.segments[0], "embed_lookup", Phase::kForward), 2);
}

}  // namespace
}  // namespace trireme
