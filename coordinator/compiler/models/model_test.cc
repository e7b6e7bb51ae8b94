// The table of architectures, instance names, and edges that fit from segment to segment.
#include "coordinator/compiler/models/model.h"

#include <gtest/gtest.h>

#include "common/config/keys.h"
#include "common/config/values.h"
#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

TEST(Model, UnknownTypeNamesTheKnown) {
  ModelSpec spec = TinyLlama();
  spec.type = "lama";
  const Status status = BuildModel(spec, {4, 6}, Purpose::kTrain).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("unknown architecture \"lama\"; known: llama, gpt2, mixtral"),
            std::string::npos)
      << status;
}

const std::vector<ModelSpec>& TinyModels() {
  static const auto& specs = *new std::vector<ModelSpec>{
      TinyLlama(), TinyGpt2(), TinyMoe(), TinyQwen3Moe(), TinyDeepseekMoe(), TinyGrugMoe()};
  return specs;
}

TEST(Model, EveryTypeBuilds) {
  std::vector<std::string> built;
  for (const ModelSpec& spec : TinyModels()) {
    built.push_back(spec.type);
    EXPECT_TRUE(BuildModel(spec, {4, 6}, Purpose::kTrain).ok()) << spec.type;
    EXPECT_TRUE(BuildModel(spec, {4, 6}, Purpose::kGenerate).ok()) << spec.type;
  }
  const std::vector<std::string_view> types = ModelTypes();
  EXPECT_EQ(built, std::vector<std::string>(types.begin(), types.end()));
}

// The parser takes the types that there are builders for.
TEST(Model, JobFileTakesTheSameTypes) {
  const std::vector<std::string_view> types = ModelTypes();
  for (const JobKey& key : JobKeys()) {
    if (key.path != "model.type") continue;
    EXPECT_EQ(key.type, Describe(std::vector<std::string>(types.begin(), types.end())));
    return;
  }
  ADD_FAILURE() << "no key model.type";
}

// Generating neither judges routers nor counts what they do.
TEST(Model, OnlyTrainingContributes) {
  for (const ModelSpec& spec : TinyModels()) {
    const StatusOr<Model> model = BuildModel(spec, {4, 6}, Purpose::kGenerate);
    ASSERT_TRUE(model.ok()) << model.status();
    for (const Graph& segment : model->segments) {
      EXPECT_EQ(segment.loss, -1) << spec.type << " " << segment.name;
      EXPECT_TRUE(segment.contributions.empty()) << spec.type << " " << segment.name;
    }
  }
}

TEST(Model, InstanceNameFillsTheLayerIn) {
  EXPECT_EQ(InstanceName("model.layers.{layer}.mlp.weight", 12), "model.layers.12.mlp.weight");
  EXPECT_EQ(InstanceName("model.norm.weight", -1), "model.norm.weight");
}

TEST(Model, NeighboursAgreeAboutTheirEdge) {
  for (const ModelSpec& spec : TinyModels()) {
    const StatusOr<Model> model = BuildModel(spec, {4, 6}, Purpose::kTrain);
    ASSERT_TRUE(model.ok()) << model.status();
    for (size_t i = 0; i + 1 < model->chain.size(); ++i) {
      const Graph& from = model->segments[model->chain[i].segment];
      const Graph& to = model->segments[model->chain[i + 1].segment];
      ASSERT_EQ(from.edges_out.size(), to.edges_in.size());
      for (size_t k = 0; k < from.edges_out.size(); ++k) {
        EXPECT_EQ(from.value(from.edges_out[k]).dims, to.value(to.edges_in[k]).dims)
            << spec.type << " link " << i;
        EXPECT_EQ(to.value(to.edges_in[k]).kind, ValueKind::kEdgeIn);
      }
    }
  }
}

// No tensor has one dim name twice: a sharding is looked up by name.
TEST(Model, NoValueRepeatsADimName) {
  for (const ModelSpec& spec : TinyModels()) {
    const StatusOr<Model> model = BuildModel(spec, {4, 6}, Purpose::kTrain);
    ASSERT_TRUE(model.ok()) << model.status();
    for (const Graph& segment : model->segments) {
      for (const Value& value : segment.values) {
        for (size_t i = 0; i < value.dims.size(); ++i) {
          EXPECT_EQ(FindDim(value.dims, value.dims[i].name), static_cast<int>(i)) << value.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace trireme
