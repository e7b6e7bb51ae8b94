// Llama as segments: tensors by Hugging Face's names with their dims, and the block as golden text.
#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"
#include "tests/support/golden.h"

namespace trireme {
namespace {

Model Build(const ModelSpec& spec, Purpose purpose = Purpose::kTrain) {
  StatusOr<Model> model = BuildModel(spec, {.batch = 4, .position = 6}, purpose);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(Llama, ChainIsEmbedBlocksHead) {
  const Model model = Build(TinyLlama());
  ASSERT_EQ(model.segments.size(), 3u);
  EXPECT_EQ(ChainText(model), "embed:-1 block:0 block:1 head:-1 ");
}

TEST(Llama, TensorsOfEachSegment) {
  const Model model = Build(TinyLlama());
  EXPECT_EQ(TensorsText(model.segments[0]),
            "model.embed_tokens.weight[vocab 10, embed 8] normal 0.02 @head\n");
  EXPECT_EQ(TensorsText(model.segments[1]),
            "model.layers.{layer}.input_layernorm.weight[embed 8] ones @residual\n"
            "model.layers.{layer}.self_attn.q_proj.weight[embed 8, heads 4, head_dim 2] normal "
            "0.02 decay @attention\n"
            "model.layers.{layer}.self_attn.k_proj.weight[embed 8, kv_heads 2, head_dim 2] normal "
            "0.02 decay @attention\n"
            "model.layers.{layer}.self_attn.v_proj.weight[embed 8, kv_heads 2, head_dim 2] normal "
            "0.02 decay @attention\n"
            "model.layers.{layer}.self_attn.o_proj.weight[heads 4, head_dim 2, embed 8] normal "
            "0.02 decay @attention\n"
            "model.layers.{layer}.post_attention_layernorm.weight[embed 8] ones @residual\n"
            "model.layers.{layer}.mlp.gate_proj.weight[embed 8, mlp 12] normal 0.02 decay @mlp\n"
            "model.layers.{layer}.mlp.up_proj.weight[embed 8, mlp 12] normal 0.02 decay @mlp\n"
            "model.layers.{layer}.mlp.down_proj.weight[mlp 12, embed 8] normal 0.02 decay @mlp\n");
  EXPECT_EQ(TensorsText(model.segments[2]),
            "model.norm.weight[embed 8] ones @residual\n"
            "lm_head.weight[vocab 10, embed 8] normal 0.02 decay @head\n");
}

// Tied: the head's table is the embedding itself, and does not decay.
TEST(Llama, TiedHeadNamesTheEmbedding) {
  ModelSpec spec = TinyLlama();
  spec.tie_word_embeddings = true;
  const Model model = Build(spec);
  EXPECT_EQ(TensorsText(model.segments[2]),
            "model.norm.weight[embed 8] ones @residual\n"
            "model.embed_tokens.weight[vocab 10, embed 8] normal 0.02 @head\n");
}

TEST(Llama, InitialiserRangeIsTheStandardDeviation) {
  ModelSpec spec = TinyLlama();
  spec.initializer_range = 0.5;
  for (const Graph& segment : Build(spec).segments) {
    for (const LogicalTensor& tensor : segment.tensors) {
      if (tensor.init == InitKind::kNormal) {
        EXPECT_EQ(tensor.init_std, 0.5) << tensor.name;
      }
    }
  }
}

TEST(Llama, TrainEndsInLossAndGenerateInLogits) {
  const Graph train = Build(TinyLlama()).segments[2];
  ASSERT_GE(train.loss, 0);
  EXPECT_TRUE(train.value(train.loss).dims.empty());
  ASSERT_EQ(train.contributions.size(), 2u) << "loss and its weight";
  EXPECT_EQ(train.contributions[0].value, train.loss);
  EXPECT_TRUE(train.value(train.contributions[1].value).dims.empty());
  EXPECT_TRUE(train.edges_out.empty());
  const Graph generate = Build(TinyLlama(), Purpose::kGenerate).segments[2];
  EXPECT_EQ(generate.loss, -1);
  ASSERT_EQ(generate.edges_out.size(), 1u);
  EXPECT_EQ(ToText(generate.value(generate.edges_out[0]).dims), "[batch 4, position 6, vocab 10]");
}

TEST(Llama, BlockIsGolden) {
  ExpectGolden("llama_block_forward", Build(TinyLlama()).segments[1].ToText());
}

}  // namespace
}  // namespace trireme
