// Golden plans, errors, and properties of reshards: on random meshes of 1 to 16 ranks, carrying out
// the steps on real data gives every rank the right shard.
#include "common/sharding/reshard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "common/base/check.h"
#include "common/sharding/reshard_simulator.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kData = 0, kReplica = 1, kModel = 2, kDcn = 3;

Mesh TestMesh() {
  auto mesh =
      Mesh::Create({{"data", 2}, {"replica", 2}, {"model", 2}, {"replica_dcn", 2, Fabric::kDcn}});
  CHECK_OK(mesh.status());
  return *mesh;
}

Partial Sum(int axis) { return {axis, ReduceKind::kSum}; }
Partial Max(int axis) { return {axis, ReduceKind::kMax}; }

std::string Plan(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& from,
                 const Sharding& to) {
  auto steps = PlanReshard(mesh, dims, /*element_bytes=*/4, from, to);
  if (!steps.ok()) return std::string(ToStd(steps.status().message()));
  EXPECT_TRUE(steps->empty() || steps->back().result == to);
  return ToText(mesh, *steps);
}

const std::vector<Dim>& WeightDims() {
  static const auto& dims = *new std::vector<Dim>{{"mlp", 8}, {"embed", 16}};
  return dims;
}

// Hierarchical communication that nobody wrote by hand (DESIGN.md 4).
TEST(PlanReshard, GradientOfFsdpWeightIsReducedInsideThenAcrossSlices) {
  const Sharding from = {{{}, {}}, {Sum(kData), Sum(kReplica), Sum(kDcn)}};
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), from, {{{}, {kData}}, {}}),
            "reduce_scatter SUM over (data,replica) ici dim 1, 384 bytes\n"
            "all_reduce SUM over (replica_dcn) dcn, 128 bytes\n"
            "all_gather over (replica) ici dim 1, 128 bytes\n");
}

// The comparison that jobs may ask for: one reduction over all replicas, all of it over DCN.
TEST(PlanReshard, FlatReducesOverAllReplicasAtOnce) {
  const Sharding from = {{{}, {}}, {Sum(kData), Sum(kDcn)}};
  const auto steps = PlanReshard(TestMesh(), WeightDims(), 4, from, {{{}, {kData}}, {}}, true);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(ToText(TestMesh(), *steps),
            "all_reduce SUM over (replica_dcn,data) dcn, 768 bytes\n"
            "slice over (data) dim 1, 0 bytes\n");
  const Sharding inside = {{{}, {}}, {Sum(kData)}};
  const auto scatter = PlanReshard(TestMesh(), WeightDims(), 4, inside, {{{}, {kData}}, {}}, true);
  ASSERT_TRUE(scatter.ok()) << scatter.status();
  EXPECT_EQ(ToText(TestMesh(), *scatter), "reduce_scatter SUM over (data) ici dim 1, 256 bytes\n");
}

TEST(PlanReshard, NeighbouringStepsOfOneFabricMerge) {
  const Sharding partial = {{{}, {}}, {Sum(kData), Sum(kReplica), Sum(kModel), Sum(kDcn)}};
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), partial, Replicated(2)),
            "reduce_scatter SUM over (model,replica,data) ici dim 0, 448 bytes\n"
            "all_reduce SUM over (replica_dcn) dcn, 64 bytes\n"
            "all_gather over (model,replica,data) ici dim 0, 448 bytes\n");
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), {{{kDcn, kReplica, kData}, {}}, {}}, Replicated(2)),
            "all_gather over (replica,data) ici dim 0, 192 bytes\n"
            "all_gather over (replica_dcn) dcn dim 0, 256 bytes\n");
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), {{{}, {}}, {Sum(kData), Sum(kReplica)}},
                 {{{kReplica, kData}, {}}, {}}),
            "reduce_scatter SUM over (replica,data) ici dim 0, 384 bytes\n");
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), Replicated(2), {{{kDcn, kData}, {kModel}}, {}}),
            "slice over (replica_dcn,data) dim 0, 0 bytes\n"
            "slice over (model) dim 1, 0 bytes\n");
}

TEST(PlanReshard, AllToAllMovesASplitToAnotherDim) {
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), {{{kModel}, {}}, {}}, {{{}, {kModel}}, {}}),
            "all_to_all over (model) ici dim 0 to dim 1, 128 bytes\n");
  EXPECT_EQ(
      Plan(TestMesh(), WeightDims(), {{{kData, kModel}, {}}, {}}, {{{}, {kData, kModel}}, {}}),
      "all_to_all over (data,model) ici dim 0 to dim 1, 96 bytes\n");
}

TEST(PlanReshard, SlicesComeBeforeWhatTheyMakeCheaper) {
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), {{{}, {}}, {Sum(kModel)}}, {{{kData}, {}}, {}}),
            "slice over (data) dim 0, 0 bytes\n"
            "all_reduce SUM over (model) ici, 256 bytes\n");
}

TEST(PlanReshard, KeptPartialsStayAndMaximaKeepTheirKind) {
  const Partial time = Sum(kMicrobatchAxis);
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), {{{kModel}, {}}, {time, Sum(kData), Sum(kDcn)}},
                 {{{kModel}, {kData}}, {time, Sum(kDcn)}}),
            "reduce_scatter SUM over (data) ici dim 1, 128 bytes\n");
  EXPECT_EQ(Plan(TestMesh(), WeightDims(), {{{}, {}}, {Max(kData), Max(kModel)}}, Replicated(2)),
            "all_reduce MAX over (data,model) ici, 768 bytes\n");
}

// The state whose split does not divide is passed by: 6 does not split 4 ways.
TEST(PlanReshard, IntermediateShardsAlwaysDivide) {
  EXPECT_EQ(Plan(TestMesh(), {{"heads", 6}}, {{{kData}}, {}}, {{{kModel}}, {}}),
            "all_gather over (data) ici dim 0, 12 bytes\n"
            "slice over (model) dim 0, 0 bytes\n");
}

TEST(PlanReshard, NothingToDoMovesNothing) {
  const Sharding sharding = {{{kData}, {kModel}}, {Sum(kDcn)}};
  auto steps = PlanReshard(TestMesh(), WeightDims(), 4, sharding, sharding);
  ASSERT_TRUE(steps.ok());
  EXPECT_THAT(*steps, IsEmpty());
  auto mesh = Mesh::Create({{"data", 1}, {"model", 2}});
  ASSERT_TRUE(mesh.ok());
  steps = PlanReshard(*mesh, WeightDims(), 4, {{{0, 1}, {}}, {}}, {{{1}, {}}, {Sum(0)}});
  ASSERT_TRUE(steps.ok());
  EXPECT_THAT(*steps, IsEmpty());  // an axis of size 1 is neither a split nor a sum
}

TEST(PlanReshard, ErrorsNameTheMove) {
  const Mesh mesh = TestMesh();
  const Sharding whole = Replicated(2);
  const Sharding time = {{{}, {}}, {Sum(kMicrobatchAxis)}};
  EXPECT_EQ(Plan(mesh, WeightDims(), whole, {{{}, {}}, {Sum(kData)}}),
            "reshard [mlp, embed] -> [mlp, embed] +SUM(data): the result cannot be partial where "
            "the value is not, or not in the same way; make it whole or split there");
  EXPECT_THAT(Plan(mesh, WeightDims(), {{{}, {}}, {Sum(kData)}}, {{{}, {}}, {Max(kData)}}),
              HasSubstr("+SUM(data) -> [mlp, embed] +MAX(data)"));
  EXPECT_THAT(Plan(mesh, WeightDims(), time, whole), HasSubstr("keep microbatch partial"));
  EXPECT_THAT(Plan(mesh, WeightDims(), whole, time), HasSubstr("cannot be partial"));
  EXPECT_THAT(Plan(mesh, WeightDims(), {{{}, {}}, {Sum(kData), Max(kModel)}}, whole),
              HasSubstr("depend on their order"));
  EXPECT_THAT(Plan(mesh, {{"heads", 3}}, Replicated(1), {{{kData}}, {}}),
              HasSubstr("reshard target: dim heads of size 3"));
}

// Random problems of the property tests below.
struct Problem {
  Mesh mesh;
  std::vector<Dim> dims;
  Sharding from;
  Sharding to;
};

int Pick(std::mt19937& random, int limit) { return static_cast<int>(random() % limit); }

Mesh RandomMesh(std::mt19937& random) {
  std::vector<MeshAxis> axes;
  int64_t ranks = 1;
  const int count = 1 + Pick(random, 4);
  const char* names[] = {"model", "data", "zeta", "replica"};
  for (int i = 0; i < count; ++i) {
    const int64_t size = 1 + Pick(random, static_cast<int>(std::min<int64_t>(4, 16 / ranks)));
    ranks *= size;
    axes.push_back({names[i], size, Pick(random, 3) == 0 ? Fabric::kDcn : Fabric::kIci});
  }
  auto mesh = Mesh::Create(axes);
  CHECK_OK(mesh.status());
  return *mesh;
}

// Puts every axis on a random dim, nowhere, or (if allowed) on the partial list.
Sharding RandomSharding(std::mt19937& random, const Mesh& mesh, int num_dims,
                        const std::vector<Partial>& may_be_partial) {
  Sharding sharding = Replicated(num_dims);
  std::vector<int> order(mesh.num_axes());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (int axis : order) {
    const int place = Pick(random, num_dims + 3);
    if (place < num_dims) sharding.dim_axes[place].push_back(axis);
    if (place != num_dims) continue;
    for (const Partial& partial : may_be_partial) {
      if (partial.axis == axis) sharding.partial.push_back(partial);
    }
  }
  std::sort(sharding.partial.begin(), sharding.partial.end());
  return sharding;
}

Problem RandomProblem(std::mt19937& random) {
  Problem problem;
  problem.mesh = RandomMesh(random);
  const int num_dims = 1 + Pick(random, 3);
  const ReduceKind kind = Pick(random, 4) == 0 ? ReduceKind::kMax : ReduceKind::kSum;
  std::vector<Partial> all;
  for (int axis = 0; axis < problem.mesh.num_axes(); ++axis) all.push_back({axis, kind});
  problem.from = RandomSharding(random, problem.mesh, num_dims, all);
  problem.to = RandomSharding(random, problem.mesh, num_dims, problem.from.partial);
  for (int d = 0; d < num_dims; ++d) {
    const int64_t size =
        std::lcm(NumShards(problem.mesh, problem.from, d), NumShards(problem.mesh, problem.to, d)) *
        (1 + Pick(random, 2));
    problem.dims.push_back({"d" + std::to_string(d), size});
  }
  return problem;
}

RankBuffer Numbers(const std::vector<Dim>& dims) {
  RankBuffer full(Product(Sizes(dims)));
  std::iota(full.begin(), full.end(), 1.0);
  return full;
}

// What a plan's buffers stand for once the partials that are left are resolved too.
RankBuffers Resolve(const Problem& problem, RankBuffers buffers) {
  Sharding whole = problem.to;
  whole.partial.clear();
  auto steps = PlanReshard(problem.mesh, problem.dims, 8, problem.to, whole);
  CHECK_OK(steps.status());
  return ApplyReshard(problem.mesh, problem.dims, problem.to, *steps, std::move(buffers));
}

TEST(ReshardProperty, StepsGiveEveryRankItsShard) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    const Problem problem = RandomProblem(random);
    const std::string text = problem.mesh.ToText() + " " +
                             ToText(problem.mesh, problem.dims, problem.from) + " -> " +
                             ToText(problem.mesh, problem.dims, problem.to);
    auto steps = PlanReshard(problem.mesh, problem.dims, 8, problem.from, problem.to);
    ASSERT_TRUE(steps.ok()) << text << steps.status();
    const RankBuffer full = Numbers(problem.dims);
    RankBuffers buffers = ShardForTest(problem.mesh, problem.dims, problem.from, full);
    buffers = ApplyReshard(problem.mesh, problem.dims, problem.from, *steps, std::move(buffers));
    Sharding whole = problem.to;
    whole.partial.clear();
    ASSERT_EQ(Resolve(problem, std::move(buffers)),
              ShardForTest(problem.mesh, problem.dims, whole, full))
        << text << "\n"
        << ToText(problem.mesh, *steps);
  }
}

// No plan is dearer than the plain one: resolve and gather everything, then slice.
int64_t Cost(const std::vector<ReshardStep>& steps) {
  int64_t cost = 0;
  for (const ReshardStep& step : steps) cost += step.bytes * (step.fabric == Fabric::kDcn ? 16 : 1);
  return cost;
}

TEST(ReshardProperty, NoDearerThanGatheringEverything) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 1000; ++trial) {
    const Problem problem = RandomProblem(random);
    Sharding whole = Replicated(static_cast<int>(problem.dims.size()));
    whole.partial = problem.to.partial;
    auto direct = PlanReshard(problem.mesh, problem.dims, 8, problem.from, problem.to);
    auto gather = PlanReshard(problem.mesh, problem.dims, 8, problem.from, whole);
    ASSERT_TRUE(direct.ok() && gather.ok());
    EXPECT_LE(Cost(*direct), Cost(*gather) + 8) << ToText(problem.mesh, *direct);
  }
}

TEST(ReshardProperty, GatherOfShardIsTheValueAndEveryStepHasOneFabric) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    Problem problem = RandomProblem(random);
    problem.to = Replicated(static_cast<int>(problem.dims.size()));
    auto steps = PlanReshard(problem.mesh, problem.dims, 8, problem.from, problem.to);
    ASSERT_TRUE(steps.ok());
    const RankBuffer full = Numbers(problem.dims);
    RankBuffers buffers = ShardForTest(problem.mesh, problem.dims, problem.from, full);
    buffers = ApplyReshard(problem.mesh, problem.dims, problem.from, *steps, std::move(buffers));
    ASSERT_THAT(buffers, testing::Each(full));
    for (const ReshardStep& step : *steps) {
      for (int axis : step.axes) EXPECT_EQ(problem.mesh.axis(axis).fabric, step.fabric);
    }
  }
}

}  // namespace
}  // namespace trireme
