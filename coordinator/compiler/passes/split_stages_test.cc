// Layers dealt to stages, embedding and head counted.
#include "coordinator/compiler/passes/split_stages.h"

#include <gtest/gtest.h>

#include <string>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

std::string StagesText(int64_t layers, int64_t stages, const std::vector<int64_t>& counts = {},
                       const std::vector<double>& costs = {}) {
  ModelSpec spec = TinyLlama();
  spec.num_hidden_layers = layers;
  const StatusOr<Model> built = BuildModel(spec, {}, {4, 6}, Purpose::kTrain);
  EXPECT_TRUE(built.ok()) << built.status();
  const Model& model = *built;
  const auto split = SplitStages(model, stages, counts, costs);
  if (!split.ok()) return split.status().ToString();
  std::string text;
  for (const auto& [begin, end] : *split) {
    for (int i = begin; i < end; ++i) {
      const ChainLink& link = model.chain[i];
      text += link.layer >= 0 ? std::to_string(link.layer)
                              : model.segments[link.segment].name.substr(0, 1);
    }
    text += "|";
  }
  return text;
}

TEST(SplitStages, EvenWithTheRestInFront) {
  EXPECT_EQ(StagesText(4, 1), "e0123h|");
  EXPECT_EQ(StagesText(4, 2), "e01|23h|");
  EXPECT_EQ(StagesText(5, 3), "e01|23|4h|");
  EXPECT_EQ(StagesText(3, 3), "e0|1|2h|");
}

// Costs of embedding, block and head.
TEST(SplitStages, CostsOfEmbeddingAndHeadCount) {
  EXPECT_EQ(StagesText(6, 2, {}, {0, 1, 2}), "e0123|45h|");
  EXPECT_EQ(StagesText(6, 3, {}, {1, 1, 3}), "e01|234|5h|");
  EXPECT_EQ(StagesText(8, 4, {}, {0, 2, 1}), "e01|23|45|67h|");
}

TEST(SplitStages, AsTheJobSays) { EXPECT_EQ(StagesText(5, 3, {1, 3, 1}), "e0|123|4h|"); }

TEST(SplitStages, Errors) {
  EXPECT_NE(StagesText(2, 3).find("make 3 stages but the model has only 2 layers; use at most 2"),
            std::string::npos);
  EXPECT_NE(StagesText(4, 2, {1, 2, 1})
                .find("pipeline.layers_per_stage has 3 entries but the mesh and "
                      "pipeline.chunks_per_stage make 2 stages"),
            std::string::npos);
}

}  // namespace
}  // namespace trireme
