// dispatch_plan: CPU equals reference, shards of experts and tokens plan what the whole plans, the
// order of rows by hand, what is dropped and that it is shared fairly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/ops/dispatch_plan/test_plans.h"

namespace trireme {
namespace {

// Outputs.
constexpr int kSource = 0;
constexpr int kCounts = 1;
constexpr int kWavesNeeded = 2;
constexpr int kDrops = 3;
constexpr int kExtraWaves = 4;

std::vector<HostTensor> RunPlan(const PlanSizes& sizes, const OpInput& ids) {
  const OpCase c = PlanCase(sizes, ids);
  return RunOp(c, MakeInputs(c), {.cpu = true});
}

TEST(DispatchPlan, CpuMatchesReference) {
  for (const Plan& plan : OddPlans()) CheckCpuMatchesReference(PlanCase(plan.sizes, plan.ids), 0);
  CheckCpuMatchesReference(
      PlanCase({.num_experts = 7, .capacity = 11, .thin = 1}, RandomIds(5, 4, 2, 7, 4)), 0);
  CheckCpuMatchesReference(
      PlanCase({.num_experts = 2, .capacity = 2, .waves = 2}, OneChoice({0, 0, 0, 0, 0, 1, 0})),
      0);  // more than all waves hold
  const OpInput many = RandomIds(40, 10, 4, 13, 9);
  CheckCpuMatchesReference(PlanCase({.num_experts = 13, .capacity = 1500}, many), 0);
  CheckCpuMatchesReference(PlanCase({.num_experts = 13, .capacity = 700, .thin = 1}, many), 0);
  const OpInput of_shards = RandomIds(40, 20, 4, 40, 10);
  CheckCpuMatchesReference(
      PlanCase(
          {.num_experts = 40, .capacity = 90, .waves = 3, .expert_shards = 8, .token_shards = 2},
          of_shards),
      0);
  OpCase later = PlanCase({.num_experts = 3, .capacity = 20}, RandomIds(5, 4, 2, 6, 5));
  later.attrs.Set("expert_start", int64_t{2});
  CheckCpuMatchesReference(later, 0);
}

TEST(DispatchPlan, SortsByExpertThenTokenThenChoice) {
  const OpInput ids = Given({{"batch", 2}, {"position", 2}, {"choice", 2}}, DType::kInt32,
                            {2, 0, -1, -1, 0, 3, 2, 3});
  const std::vector<HostTensor> plan = RunPlan({.num_experts = 4, .capacity = 8}, ids);
  EXPECT_EQ(plan[kSource].Values(), (std::vector<double>{1, 4, 0, 6, 5, 7, -1, -1}));
  EXPECT_EQ(plan[kCounts].Values(), (std::vector<double>{2, 0, 2, 2}));
  EXPECT_EQ(plan[kWavesNeeded].Get(0), 1);
  EXPECT_EQ(plan[kDrops].Get(0), 0);
  EXPECT_EQ(plan[kExtraWaves].Get(0), 0);
}

// Two expert shards of two experts, two token shards, pools of two rows for each pair.
TEST(DispatchPlan, FillsWavesOfEachShardAndPart) {
  const PlanSizes sizes = {
      .num_experts = 4, .capacity = 2, .waves = 2, .expert_shards = 2, .token_shards = 2};
  const std::vector<HostTensor> plan = RunPlan(sizes, OneChoice({1, 0, 1, 2, 3, 3, 0, -1}));
  const std::vector<double> first = {1, 0, 6, -1, 3, -1, 4, 5};
  const std::vector<double> second = {2, -1, -1, -1, -1, -1, -1, -1};
  std::vector<double> expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(plan[kSource].Values(), expected);
  EXPECT_EQ(plan[kCounts].Values(),
            (std::vector<double>{1, 1, 1, 0, 1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(plan[kWavesNeeded].Get(0), 2);
  EXPECT_EQ(plan[kExtraWaves].Get(0), 1);
  EXPECT_EQ(plan[kDrops].Get(0), 0);
}

TEST(DispatchPlan, NoRowsNeedNoWave) {
  const std::vector<HostTensor> plan =
      RunPlan({.num_experts = 2, .capacity = 2}, OneChoice({-1, -1, -1}));
  EXPECT_EQ(plan[kSource].Values(), (std::vector<double>{-1, -1}));
  EXPECT_EQ(plan[kWavesNeeded].Get(0), 0);
  EXPECT_EQ(plan[kExtraWaves].Get(0), 0);
}

// Runs one rank's part of `whole`: token shard `part`, expert shard `shard`.
std::vector<HostTensor> RunShard(const Plan& whole, int64_t part, int64_t shard) {
  const PlanSizes& sizes = whole.sizes;
  const int64_t experts = sizes.num_experts / sizes.expert_shards;
  const OpCase c = PlanCase(sizes, whole.ids);
  const HostTensor all = MakeInputs(c)[0];
  const int64_t batch = all.sizes()[0] / sizes.token_shards;
  Attrs attrs = c.attrs;
  attrs.Set("expert_start", shard * experts);
  std::vector<HostTensor> outputs;
  outputs.emplace_back(DType::kInt32, std::vector<int64_t>{sizes.waves, 1, sizes.capacity});
  outputs.emplace_back(DType::kInt32, std::vector<int64_t>{sizes.waves, 1, experts});
  outputs.emplace_back(DType::kInt32, std::vector<int64_t>{});
  outputs.emplace_back(DType::kFloat64, std::vector<int64_t>{});
  outputs.emplace_back(DType::kFloat64, std::vector<int64_t>{});
  RunInto(c, attrs, {all.Slice(0, part * batch, batch)}, {.cpu = true}, outputs);
  return outputs;
}

void CheckShards(const PlanSizes& sizes, const OpInput& ids) {
  const Plan whole = MakePlan(sizes, ids);
  const std::vector<HostTensor> expected = RunPlan(sizes, ids);
  const int64_t part_assignments = Product(Sizes(ids.dims)) / sizes.token_shards;
  double waves_needed = 0, drops = 0, extra_waves = 0;
  for (int64_t part = 0; part < sizes.token_shards; ++part) {
    for (int64_t shard = 0; shard < sizes.expert_shards; ++shard) {
      const std::vector<HostTensor> rank = RunShard(whole, part, shard);
      std::vector<double> source = rank[kSource].Values();  // counts its own shard's tokens
      for (double& i : source) i += i < 0 ? 0 : static_cast<double>(part * part_assignments);
      const int64_t experts = sizes.num_experts / sizes.expert_shards;
      EXPECT_EQ(source, expected[kSource]
                            .Slice(1, shard, 1)
                            .Slice(2, part * sizes.capacity, sizes.capacity)
                            .Values());
      EXPECT_EQ(rank[kCounts].Values(),
                expected[kCounts].Slice(1, part, 1).Slice(2, shard * experts, experts).Values());
      waves_needed = std::max(waves_needed, rank[kWavesNeeded].Get(0));
      drops += rank[kDrops].Get(0);
      extra_waves += rank[kExtraWaves].Get(0);
    }
  }
  EXPECT_EQ(waves_needed, expected[kWavesNeeded].Get(0));
  EXPECT_EQ(drops, expected[kDrops].Get(0));
  EXPECT_EQ(extra_waves, expected[kExtraWaves].Get(0));
}

TEST(DispatchPlan, ShardsPlanWhatTheWholePlans) {
  CheckShards({.num_experts = 6, .capacity = 5, .waves = 4, .expert_shards = 3, .token_shards = 2},
              RandomIds(4, 5, 3, 6, 6));
  CheckShards({.num_experts = 8, .capacity = 3, .expert_shards = 2, .token_shards = 3, .thin = 1},
              RandomIds(6, 3, 2, 8, 7));
}

// Four experts on two ranks, one choice, eight tokens; semantics of the three ways to exchange.
TEST(DispatchPlan, DropsWhatCapacityFactorOneSays) {
  const std::vector<double> first = {0, 0, 0, 1}, second = {0, 2, 3, 0};
  std::vector<double> both = first;
  both.insert(both.end(), second.begin(), second.end());
  // Ring: a receiver plans the tokens of both ranks into four rows.
  const std::vector<HostTensor> ring =
      RunPlan({.num_experts = 4, .capacity = 4, .expert_shards = 2, .thin = 1}, OneChoice(both));
  EXPECT_EQ(ring[kDrops].Get(0), 2);
  EXPECT_EQ(ring[kCounts].Values(), (std::vector<double>{3, 1, 1, 1}));  // expert 1 keeps its row
  const std::vector<double> source = ring[kSource].Values();
  const auto of_expert_0 = [&](double begin, double end) {
    return std::count_if(source.begin(), source.begin() + 3,
                         [&](double i) { return i >= begin && i < end; });
  };
  EXPECT_EQ(of_expert_0(0, 4), 2);  // of three: one dropped
  EXPECT_EQ(of_expert_0(4, 8), 1);  // of two: one dropped
  // Pools of two rows for each sender and destination.
  const std::vector<HostTensor> pools =
      RunPlan({.num_experts = 4, .capacity = 2, .expert_shards = 2, .token_shards = 2, .thin = 1},
              OneChoice(both));
  EXPECT_EQ(pools[kDrops].Get(0), 2);
  // Dropless: as many waves as the worst case needs.
  const std::vector<HostTensor> dropless =
      RunPlan({.num_experts = 4, .capacity = 4, .waves = 2, .expert_shards = 2}, OneChoice(both));
  EXPECT_EQ(dropless[kDrops].Get(0), 0);
  EXPECT_EQ(dropless[kWavesNeeded].Get(0), 2);
}

// What one shard of experts keeps: every expert, and every source's rows of an expert, within one
// row of the kept fraction.
TEST(DispatchPlan, ThinningIsFairToExpertsAndSources) {
  constexpr int64_t kSources = 4;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const OpInput ids = RandomIds(8, 6, 2, 5, seed);
    const PlanSizes sizes = {
        .num_experts = 5, .capacity = 10 + static_cast<int64_t>(seed) % 30, .thin = 1};
    const std::vector<HostTensor> plan = RunPlan(sizes, ids);
    std::map<std::pair<double, int64_t>, double> sent, kept;
    const int64_t per_source = static_cast<int64_t>(ids.values.size()) / kSources;
    double total = 0;
    for (size_t i = 0; i < ids.values.size(); ++i) {
      if (ids.values[i] < 0) continue;
      ++sent[{ids.values[i], static_cast<int64_t>(i) / per_source}];
      ++sent[{ids.values[i], -1}];
      ++total;
    }
    for (const double i : plan[kSource].Values()) {
      if (i < 0) continue;
      const double expert = ids.values[static_cast<size_t>(i)];
      ++kept[{expert, static_cast<int64_t>(i) / per_source}];
      ++kept[{expert, -1}];
    }
    const double fraction = std::min(1.0, static_cast<double>(sizes.capacity) / total);
    for (const auto& [key, count] : sent) {
      EXPECT_LT(std::abs(kept[key] - fraction * count), 1 + 1e-9)
          << "seed " << seed << " expert " << key.first << " source " << key.second;
    }
    EXPECT_EQ(plan[kDrops].Get(0), std::max(0.0, total - static_cast<double>(sizes.capacity)));
  }
}

TEST(DispatchPlan, RefusesSizesThatCannotBe) {
  const OpInput ids = OneChoice({0, 1, 2});
  ExpectInferError(PlanCase({.num_experts = 3, .capacity = 0}, ids), "capacity=0 must be at least");
  ExpectInferError(PlanCase({.num_experts = 3, .expert_shards = 2}, ids),
                   "expert_shards=2 does not divide num_experts=3");
  ExpectInferError(PlanCase({.num_experts = 3, .token_shards = 2}, ids),
                   "token_shards=2 does not divide 3 tokens");
  ExpectInferError(PlanCase({.num_experts = 3, .waves = 2, .thin = 1}, ids), "waves=2");
}

}  // namespace
}  // namespace trireme
