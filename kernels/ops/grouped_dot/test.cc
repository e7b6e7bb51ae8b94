// grouped_dot: gradient, CPU equals reference on odd pools and sizes beyond a block, splits, and
// dispatch, products and combine over all waves against a dense evaluation of every expert.
#include <gtest/gtest.h>

#include "kernels/ops/dispatch_plan/test_plans.h"

namespace trireme {
namespace {

OpCase ProductCase(const Plan& plan, int64_t wave, int64_t in, int64_t out, bool transposed) {
  const Dim in_dim = {"embed", in}, out_dim = {"mlp", out}, expert = plan.counts.dims[2];
  return {
      .op = "grouped_dot",
      .attrs = {{"wave", wave}, {"transposed", int64_t{transposed}}, {"fill", 0.5}},
      .inputs = {Normal(plan.RowDims(in_dim)),
                 transposed ? Normal({expert, out_dim, in_dim}) : Normal({expert, in_dim, out_dim}),
                 plan.counts},
      // Experts and their shards, and slots and parts of tokens, are split together only.
      .skip_dims = {"expert_shard", "expert", "slot", "token_shard"}};
}

TEST(GroupedDot, GradientIsRight) {
  for (const Plan& plan : OddPlans()) {
    for (const bool transposed : {false, true}) {
      CheckGradient(ProductCase(plan, plan.sizes.waves - 1, 3, 4, transposed));
      CheckGradient(ProductCase(plan, 0, 3, 4, transposed));
    }
  }
}

TEST(GroupedDot, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const Plan& plan : OddPlans()) {
    for (const bool transposed : {false, true}) {
      for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
        CheckCpuMatchesReference(ProductCase(plan, wave, 19, 37, transposed), 1e-5);
      }
      CheckEverySharding(ProductCase(plan, 0, 4, 6, transposed));
    }
  }
  const Plan large = MakePlan({.num_experts = 3, .capacity = 300}, RandomIds(4, 40, 2, 3, 3));
  for (const bool transposed : {false, true}) {
    CheckCpuMatchesReference(ProductCase(large, 0, 70, 45, transposed), 1e-4);
  }
}

TEST(GroupedDot, MultipliesEachExpertsRowsByItsMatrix) {
  const Plan plan = MakePlan({.num_experts = 3, .capacity = 4}, OneChoice({2, 0, 2}));
  OpCase c = ProductCase(plan, 0, 1, 2, false);
  c.inputs[0] = Given(plan.RowDims({"embed", 1}), DType::kFloat32, {1, 2, 3, 100});
  c.inputs[1] =
      Given({{"expert", 3}, {"embed", 1}, {"mlp", 2}}, DType::kFloat32, {1, 10, 7, 7, -1, 5});
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = cpu})[0].Values(),
              (std::vector<double>{1, 10, -2, 10, -3, 15, 0, 0}));
  }
}

TEST(GroupedDot, ThreadsDoNotChangeABit) {
  const Plan plan =
      MakePlan({.num_experts = 4, .capacity = 500, .token_shards = 2}, RandomIds(8, 40, 2, 4, 5));
  for (const bool transposed : {false, true}) {
    const OpCase c = ProductCase(plan, 0, 300, 50, transposed);
    const std::vector<HostTensor> inputs = MakeInputs(c);
    const std::vector<double> one = RunOp(c, inputs, {.cpu = true})[0].Values();
    for (const int threads : {1, 2, 3}) {
      EXPECT_EQ(RunOp(c, inputs, {.cpu = true, .num_threads = threads})[0].Values(), one);
    }
  }
}

// Shards of experts multiply what the whole does with their part of the pool.
TEST(GroupedDot, ExpertShardsGiveTheirPartOfTheWhole) {
  const Plan plan = OddPlans()[2];
  const OpCase c = ProductCase(plan, 0, 5, 7, false);
  const std::vector<HostTensor> inputs = MakeInputs(c);
  const HostTensor whole = RunOp(c, inputs)[0];
  const int64_t experts = plan.sizes.num_experts / plan.sizes.expert_shards;
  for (int64_t shard = 0; shard < plan.sizes.expert_shards; ++shard) {
    std::vector<HostTensor> part = {HostTensor(DType::kFloat32, {1, plan.slots(), 7})};
    RunInto(c, c.attrs,
            {inputs[0].Slice(0, shard, 1), inputs[1].Slice(0, shard * experts, experts),
             inputs[2].Slice(2, shard * experts, experts)},
            {.cpu = true}, part);
    EXPECT_EQ(Difference(whole.Slice(0, shard, 1), part[0], 1e-5), "") << shard;
  }
}

// sum over choices of weight * (x W_expert), by plain loops.
HostTensor Dense(const Plan& plan, const HostTensor& x, const HostTensor& w,
                 const HostTensor& weights) {
  const int64_t in = w.sizes()[1], out = w.sizes()[2], choices = plan.ids.dims[2].size;
  HostTensor y(DType::kFloat32, {x.sizes()[0], x.sizes()[1], out});
  for (size_t a = 0; a < plan.ids.values.size(); ++a) {
    if (plan.ids.values[a] < 0) continue;
    const int64_t token = static_cast<int64_t>(a) / choices;
    const int64_t expert = static_cast<int64_t>(plan.ids.values[a]);
    for (int64_t o = 0; o < out; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < in; ++i) {
        sum += x.Get(token * in + i) * w.Get((expert * in + i) * out + o);
      }
      const int64_t at = token * out + o;
      y.Set(at, y.Get(at) + weights.Get(static_cast<int64_t>(a)) * sum);
    }
  }
  return y;
}

TEST(GroupedDot, AllWavesEqualTheDenseEvaluation) {
  for (const Plan& plan : OddPlans()) {
    const OpCase dispatch = {.op = "dispatch",
                             .attrs = {{"choices", plan.ids.dims[2].size}},
                             .inputs = {Normal(plan.TokenDims({"embed", 5})), plan.source}};
    const OpCase product = ProductCase(plan, 0, 5, 6, false);
    const OpCase combine = {.op = "combine",
                            .inputs = {Normal(plan.RowDims({"mlp", 6})), plan.source,
                                       Positive(plan.TokenDims(plan.ids.dims[2]))}};
    const std::vector<HostTensor> x = MakeInputs(dispatch), w = MakeInputs(product),
                                  weights = MakeInputs(combine);
    std::vector<HostTensor> y = {HostTensor(DType::kFloat32, Sizes(plan.TokenDims({"mlp", 6})))};
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      OpCase d = dispatch, p = product, c = combine;
      for (OpCase* op : {&d, &p, &c}) op->attrs.Set("wave", wave);
      const HostTensor rows = RunOp(d, x, {.cpu = true})[0];
      const HostTensor out = RunOp(p, {rows, w[1], w[2]}, {.cpu = true})[0];
      RunInto(c, c.attrs, {out, weights[1], weights[2]}, {.cpu = true, .accumulate = true}, y);
    }
    EXPECT_EQ(Difference(Dense(plan, x[0], w[1], weights[2]), y[0], 1e-5), "");
  }
}

TEST(GroupedDot, CostIsThatOfTheFilledSlots) {
  const Plan plan = OddPlans()[0];  // 40 slots
  const OpCase c = ProductCase(plan, 0, 3, 5, false);
  Graph graph;
  Node node{.op = c.op, .attrs = c.attrs};
  for (const OpInput& input : c.inputs) {
    node.inputs.push_back(graph.AddValue({.dims = input.dims, .dtype = input.dtype}));
  }
  node.outputs = {graph.AddValue({.dims = plan.RowDims({"mlp", 5})})};
  EXPECT_EQ(FindRule(c.op).cost(graph, node).flops, 2 * 40 * 3 * 5 * 0.5);
}

TEST(GroupedDot, RefusesWhatDoesNotFit) {
  const Plan plan = OddPlans()[0];
  ExpectInferError(ProductCase(plan, 1, 3, 4, false), "wave=1 must be in [0, 1)");
  OpCase c = ProductCase(plan, 0, 3, 4, false);
  c.attrs.Set("transposed", int64_t{1});
  ExpectInferError(c, "embed");
}

}  // namespace
}  // namespace trireme
