// Checks the defaults against the reference's golden table, the updates a job can make, and the
// errors.
#include "common/sharding/mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/check.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Mesh MakeMeshOrDie(std::vector<MeshAxis> axes) {
  auto mesh = Mesh::Create(std::move(axes));
  CHECK_OK(mesh.status());
  return *mesh;
}

Mesh DenseMesh() {
  return MakeMeshOrDie(
      {{"data", 2}, {"replica", 2}, {"model", 2}, {"replica_dcn", 2, Fabric::kDcn}});
}

Mesh ExpertMesh() { return MakeMeshOrDie({{"data", 2}, {"model", 2}, {"expert", 2}}); }

Mapping MakeOrDie(const Mesh& mesh, const MappingConfig& config) {
  auto mapping = Mapping::Create(mesh, config);
  CHECK_OK(mapping.status());
  return *mapping;
}

using Axes = std::vector<std::string>;

// semantics.md 2.2: defaults give compute {mlp, heads, batch} and param {mlp, heads, embed}.
TEST(Mapping, DefaultsMatchTheReference) {
  const Mapping mapping = MakeOrDie(DenseMesh(), {});
  const DimMapping& compute = mapping.resolved(MappingKind::kCompute);
  EXPECT_EQ(compute.at("mlp"), Axes{"model"});
  EXPECT_EQ(compute.at("heads"), Axes{"model"});
  EXPECT_EQ(compute.at("batch"), (Axes{"replica_dcn", "replica", "data"}));
  EXPECT_EQ(compute.count("embed"), 0u);
  const DimMapping& param = mapping.resolved(MappingKind::kParam);
  EXPECT_EQ(param.at("mlp"), Axes{"model"});
  EXPECT_EQ(param.at("heads"), Axes{"model"});
  EXPECT_EQ(param.at("embed"), Axes{"data"});
  EXPECT_EQ(param.count("batch"), 0u);
  EXPECT_EQ(param.count("position"), 0u);
}

TEST(Mapping, OwnDefaults) {
  const Mapping mapping = MakeOrDie(ExpertMesh(), {});
  const DimMapping& compute = mapping.resolved(MappingKind::kCompute);
  EXPECT_EQ(compute.at("kv_heads"), Axes{"model"});
  EXPECT_EQ(compute.at("vocab"), Axes{"model"});
  EXPECT_EQ(compute.at("position"), Axes{"context"});
  EXPECT_EQ(compute.at("expert"), Axes{"expert"});
  EXPECT_EQ(compute.at("layers"), Axes{"stage"});
  EXPECT_EQ(compute.at("batch"), (Axes{"replica_dcn", "replica", "data", "expert"}));
  EXPECT_EQ(compute.at("experts/batch"), (Axes{"replica_dcn", "replica", "data"}));
  EXPECT_EQ(compute.at("experts/slot"), (Axes{"replica_dcn", "replica", "data", "context"}));
  EXPECT_EQ(compute.at("mlp/slot"), (Axes{"replica_dcn", "replica", "data", "context", "expert"}));
  EXPECT_EQ(compute.at("expert_shard"), Axes{"expert"});
  const DimMapping& param = mapping.resolved(MappingKind::kParam);
  EXPECT_EQ(param.at("kv_heads"), Axes{"model"});
  EXPECT_EQ(param.at("vocab"), Axes{"model"});
  EXPECT_EQ(param.at("expert"), Axes{"expert"});
  EXPECT_EQ(param.at("layers"), Axes{"stage"});
  EXPECT_EQ(mapping.resolved(MappingKind::kOptimizer), param);
}

TEST(Mapping, LookupDropsAbsentAndTrivialAxesAndTriesTheRegionFirst) {
  const Mesh mesh = MakeMeshOrDie({{"data", 2}, {"replica", 1}, {"model", 2}});
  const Mapping mapping = MakeOrDie(mesh, {.compute = {{"residual/position", {"model"}}}});
  const MappedAxes batch = mapping.Lookup(MappingKind::kCompute, "mlp", "batch");
  EXPECT_THAT(batch.axes, ElementsAre(0));
  EXPECT_EQ(batch.entry, "compute_mapping batch: (replica_dcn, replica, data) (default)");
  EXPECT_THAT(mapping.Lookup(MappingKind::kCompute, "residual", "position").axes, ElementsAre(2));
  EXPECT_EQ(mapping.Lookup(MappingKind::kCompute, "residual", "position").entry,
            "compute_mapping residual/position: model (job)");
  EXPECT_THAT(mapping.Lookup(MappingKind::kCompute, "mlp", "position").axes, IsEmpty());
  const MappedAxes head_dim = mapping.Lookup(MappingKind::kCompute, "attention", "head_dim");
  EXPECT_THAT(head_dim.axes, IsEmpty());
  EXPECT_EQ(head_dim.entry, "");
}

TEST(Mapping, BatchIsGatheredOverExpertInTheExpertsRegion) {
  const Mapping mapping = MakeOrDie(ExpertMesh(), {});
  EXPECT_THAT(mapping.Lookup(MappingKind::kCompute, "mlp", "batch").axes, ElementsAre(0, 2));
  EXPECT_THAT(mapping.Lookup(MappingKind::kCompute, "experts", "batch").axes, ElementsAre(0));
  EXPECT_THAT(mapping.Lookup(MappingKind::kCompute, "experts", "expert").axes, ElementsAre(2));
}

// Experts over the data axis: no tensor [expert, slot] may want that axis twice.
TEST(Mapping, SlotsAvoidTheAxesThatExpertsTake) {
  const Mapping mapping = MakeOrDie(DenseMesh(), {.shared = {{"expert", {"data"}}}});
  EXPECT_EQ(mapping.resolved(MappingKind::kCompute).at("experts/slot"),
            (Axes{"replica_dcn", "replica", "context"}));
  EXPECT_EQ(mapping.resolved(MappingKind::kCompute).at("experts/batch"),
            (Axes{"replica_dcn", "replica"}));
}

// Parallel folding: experts over the axes that attention uses otherwise.
TEST(Mapping, RowsGoWhereAnExpertsRegionOfItsOwnSendsThem) {
  const Mapping mapping = MakeOrDie(
      ExpertMesh(), {.shared = {{"experts/expert", {"expert", "model"}}, {"experts/mlp", {}}},
                     .compute = {{"mlp/position", {"model"}}}});
  const DimMapping& compute = mapping.resolved(MappingKind::kCompute);
  EXPECT_EQ(compute.at("experts/position"), Axes{});
  EXPECT_EQ(compute.at("mlp/slot"), (Axes{"replica_dcn", "replica", "data", "expert", "model"}));
  EXPECT_EQ(compute.at("experts/slot"), (Axes{"replica_dcn", "replica", "data"}));
  EXPECT_EQ(compute.at("expert_shard"), (Axes{"expert", "model"}));
  EXPECT_EQ(mapping.Lookup(MappingKind::kCompute, "mlp", "expert").entry,
            "shared_mapping expert: expert (default)");
}

TEST(Mapping, RowsOfExpertsAreNotMappedByJobs) {
  for (const std::string key : {"slot", "experts/token_shard", "expert_shard"}) {
    const Status status = Mapping::Create(ExpertMesh(), {.compute = {{key, {}}}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.ToString().find("map batch, position or expert"), std::string::npos) << status;
  }
}

TEST(Mapping, SharedReachesBothAndKvHeadsFollowHeads) {
  const Mapping mapping =
      MakeOrDie(DenseMesh(), {.shared = {{"mlp", {"data"}}, {"heads", {"replica"}}}});
  for (MappingKind kind : {MappingKind::kCompute, MappingKind::kParam, MappingKind::kOptimizer}) {
    EXPECT_EQ(mapping.resolved(kind).at("mlp"), Axes{"data"});
    EXPECT_EQ(mapping.resolved(kind).at("kv_heads"), Axes{"replica"});
  }
  EXPECT_EQ(mapping.Lookup(MappingKind::kParam, "attention", "kv_heads").entry,
            "param_mapping kv_heads: replica (follows heads)");
}

TEST(Mapping, KvHeadsSetByTheJobStay) {
  const Mapping mapping = MakeOrDie(
      DenseMesh(), {.shared = {{"kv_heads", {}}}, .compute = {{"attention/heads", {"data"}}}});
  EXPECT_THAT(mapping.Lookup(MappingKind::kCompute, "attention", "heads").axes, ElementsAre(0));
  EXPECT_THAT(mapping.Lookup(MappingKind::kCompute, "attention", "kv_heads").axes, IsEmpty());
}

TEST(Mapping, EmptyListUnmapsAndSaysSo) {
  const Mapping mapping = MakeOrDie(DenseMesh(), {.param = {{"embed", {}}}});
  const MappedAxes embed = mapping.Lookup(MappingKind::kParam, "mlp", "embed");
  EXPECT_THAT(embed.axes, IsEmpty());
  EXPECT_EQ(embed.entry, "param_mapping embed: null (job)");
  EXPECT_THAT(mapping.Lookup(MappingKind::kOptimizer, "mlp", "embed").axes, IsEmpty());
}

// Parameters whole, optimizer state over data: ZeRO-1.
TEST(Mapping, OptimizerUpdatesParam) {
  const Mapping mapping =
      MakeOrDie(DenseMesh(), {.param = {{"embed", {}}}, .optimizer = {{"embed", {"data"}}}});
  EXPECT_THAT(mapping.Lookup(MappingKind::kParam, "mlp", "embed").axes, IsEmpty());
  const MappedAxes embed = mapping.Lookup(MappingKind::kOptimizer, "mlp", "embed");
  EXPECT_THAT(embed.axes, ElementsAre(0));
  EXPECT_EQ(embed.entry, "optimizer_mapping embed: data (job)");
  EXPECT_EQ(mapping.Lookup(MappingKind::kOptimizer, "mlp", "mlp").entry,
            "shared_mapping mlp: model (default)");
}

TEST(Mapping, BatchFromSharedOrComputeWins) {
  EXPECT_EQ(MakeOrDie(DenseMesh(), {.shared = {{"batch", {"data"}}}})
                .resolved(MappingKind::kCompute)
                .at("batch"),
            Axes{"data"});
  EXPECT_EQ(
      MakeOrDie(DenseMesh(), {.shared = {{"batch", {"data"}}}, .compute = {{"batch", {"model"}}}})
          .resolved(MappingKind::kCompute)
          .at("batch"),
      Axes{"model"});
}

TEST(Mapping, DeclaredAxisMayBeMapped) {
  const Mesh mesh = MakeMeshOrDie({{"data", 2}, {"pipe", 2}});
  const Mapping mapping = MakeOrDie(mesh, {.shared = {{"layers", {"pipe"}}}});
  EXPECT_THAT(mapping.Lookup(MappingKind::kParam, "mlp", "layers").axes, ElementsAre(1));
}

std::string Error(const MappingConfig& config) {
  auto mapping = Mapping::Create(DenseMesh(), config);
  EXPECT_EQ(mapping.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(ToStd(mapping.status().message()));
}

TEST(Mapping, TyposAreErrorsWithTheNearestName) {
  EXPECT_EQ(Error({.param = {{"embed", {"dta"}}}}),
            "param_mapping embed: unknown mesh axis 'dta'; did you mean 'data'? Known: "
            "replica_dcn, stage, replica, data, context, expert, model");
  EXPECT_THAT(Error({.compute = {{"residul/position", {"model"}}}}),
              HasSubstr("unknown region 'residul'; did you mean 'residual'?"));
  EXPECT_THAT(Error({.shared = {{"head", {"model"}}}}),
              HasSubstr("unknown dim 'head'; did you mean 'heads'?"));
  EXPECT_THAT(Error({.optimizer = {{"mlp/", {"model"}}}}), HasSubstr("unknown dim ''"));
  EXPECT_THAT(Error({.compute = {{"batch", {"data", "model", "data"}}}}),
              HasSubstr("names axis 'data' twice in (data, model, data)"));
}

}  // namespace
}  // namespace trireme
