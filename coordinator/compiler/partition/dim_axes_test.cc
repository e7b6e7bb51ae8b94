// Dims against axes: what divides, what becomes whole or padded with a reason, and what is an error
// that helps.
#include "coordinator/compiler/partition/dim_axes.h"

#include "coordinator/compiler/partition/test_mesh.h"

namespace trireme {
namespace {

constexpr auto kBad = absl::StatusCode::kInvalidArgument;

TEST(DimAxes, MappedDimIsSplit) {
  TestMesh t({{"data", 2}, {"model", 4}});
  EXPECT_EQ(*t.axes.Axes(MappingKind::kCompute, "mlp", {"mlp", 12}, "w"), std::vector<int>{1});
  EXPECT_EQ(*t.axes.Axes(MappingKind::kCompute, "residual", {"batch", 4}, "x"),
            std::vector<int>{0});
  EXPECT_EQ(*t.axes.Axes(MappingKind::kParam, "mlp", {"embed", 8}, "w"), std::vector<int>{0});
  EXPECT_TRUE(t.axes.Axes(MappingKind::kCompute, "mlp", {"embed", 8}, "w")->empty());
  EXPECT_TRUE(t.axes.reasons().empty());
}

// The reason is given once, however often the dim is looked up.
TEST(DimAxes, KvHeadsThatDoNotDivideAreWholeWithAReason) {
  TestMesh t({{"model", 4}});
  for (const MappingKind kind :
       {MappingKind::kCompute, MappingKind::kParam, MappingKind::kCompute}) {
    EXPECT_TRUE(t.axes.Axes(kind, "attention", {"kv_heads", 2}, "k")->empty());
  }
  EXPECT_EQ(*t.axes.Axes(MappingKind::kCompute, "attention", {"heads", 8}, "q"),
            std::vector<int>{0});
  ASSERT_EQ(t.axes.reasons().size(), 1u);
  EXPECT_EQ(t.axes.reasons()[0].code, "KV_HEADS_WHOLE");
  EXPECT_EQ(t.axes.reasons()[0].text,
            "kv_heads 2 does not divide over model 4: keys and values are kept whole on every rank "
            "of it");
}

TEST(DimAxes, KvHeadsThatDivideFollowHeads) {
  TestMesh t({{"model", 2}});
  EXPECT_EQ(*t.axes.Axes(MappingKind::kCompute, "attention", {"kv_heads", 2}, "k"),
            std::vector<int>{0});
  EXPECT_TRUE(t.axes.reasons().empty());
}

TEST(DimAxes, KvHeadsElsewhereThanHeadsIsAnError) {
  MappingConfig config;
  config.shared["kv_heads"] = {"data"};
  TestMesh t({{"data", 2}, {"model", 2}}, config);
  ExpectError(
      t.axes.Axes(MappingKind::kCompute, "attention", {"kv_heads", 2}, "k").status(), kBad,
      "kv_heads is mapped to data but heads to model; kv_heads must follow heads or be null");
}

TEST(DimAxes, VocabIsPaddedToEqualShards) {
  TestMesh t({{"model", 4}});
  EXPECT_EQ(*t.axes.PaddedVocab(12), 12);
  EXPECT_TRUE(t.axes.reasons().empty());
  EXPECT_EQ(*t.axes.PaddedVocab(10), 12);
  ASSERT_EQ(t.axes.reasons().size(), 1u);
  EXPECT_EQ(t.axes.reasons()[0].code, "VOCAB_PADDED");
  EXPECT_EQ(t.axes.reasons()[0].text,
            "vocab 10 is padded to 12 so that 4 shards are equal; padded rows are masked");
}

// Compute splits vocab by 2 and storage by 3: a multiple of both.
TEST(DimAxes, VocabPadsForEveryMapping) {
  MappingConfig config;
  config.param = {{"vocab", {"data"}}, {"embed", {}}};
  TestMesh t({{"data", 3}, {"model", 2}}, config);
  EXPECT_EQ(*t.axes.PaddedVocab(10), 12);
}

TEST(DimAxes, WhatDoesNotDivideNamesWhatWould) {
  TestMesh t({{"model", 8}});
  ExpectError(t.axes.Axes(MappingKind::kCompute, "mlp", {"mlp", 12}, "gate").status(), kBad,
              "gate: mlp 12 does not divide over model (8 shards; shared_mapping mlp: model "
              "(default)); divisors of 12: "
              "1, 2, 3, 4, 6, 12; or unmap it with null");
  ExpectError(t.axes.Axes(MappingKind::kCompute, "attention", {"heads", 4}, "q").status(), kBad,
              "q: heads 4 does not divide over model");
}

TEST(DimAxes, PaddedSizeCountsWhenDividing) {
  MappingConfig config;
  config.compute["position"] = {"model"};
  TestMesh t({{"model", 4}}, config);
  EXPECT_FALSE(t.axes.Axes(MappingKind::kCompute, "mlp", {"position", 7}, "x").ok());
  EXPECT_TRUE(t.axes.ShardingOf(MappingKind::kCompute, "mlp", {{"position", 8}}, "x").ok());
}

TEST(DimAxes, TwoDimsThatWantOneAxisAreNamedWithTheirEntries) {
  MappingConfig config;
  config.param["embed"] = {"model"};
  TestMesh t({{"model", 2}}, config);
  ExpectError(
      t.axes.ShardingOf(MappingKind::kParam, "mlp", {{"embed", 8}, {"mlp", 12}}, "gate").status(),
      kBad,
      "gate: dims embed and mlp both want axis model (param_mapping embed: model (job); "
      "shared_mapping mlp: "
      "model (default)); map one of them to another axis or to null");
}

// Heads and kv_heads are one split of one thing and may share an axis in one op.
TEST(DimAxes, AlignedDimsShareAnAxis) {
  TestMesh t({{"model", 2}});
  const auto sharding = t.axes.ShardingOf(MappingKind::kCompute, "attention",
                                          {{"heads", 4}, {"kv_heads", 2}}, "attention");
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  EXPECT_EQ(sharding->dim_axes, (std::vector<std::vector<int>>{{0}, {0}}));
}

TEST(DimAxes, RegionsMapTheirOwnWay) {
  TestMesh t({{"model", 2}}, SequenceParallel());
  EXPECT_EQ(*t.axes.Axes(MappingKind::kCompute, "residual", {"position", 6}, "x"),
            std::vector<int>{0});
  EXPECT_TRUE(t.axes.Axes(MappingKind::kCompute, "mlp", {"position", 6}, "x")->empty());
  EXPECT_EQ(t.axes.EntryFor(MappingKind::kCompute, "residual", "position"),
            "compute_mapping residual/position: model (job)");
  EXPECT_EQ(t.axes.EntryFor(MappingKind::kCompute, "mlp", "head_dim"), "");
}

}  // namespace
}  // namespace trireme
