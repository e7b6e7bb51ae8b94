// grouped_dot_grad: CPU equals reference on odd pools and sizes beyond a block, splits, experts
// without rows. Values are checked against central differences in grouped_dot/test.cc.
#include <gtest/gtest.h>

#include "kernels/ops/dispatch_plan/test_plans.h"

namespace trireme {
namespace {

OpCase GradCase(const Plan& plan, int64_t wave, int64_t in, int64_t out) {
  return {.op = "grouped_dot_grad",
          .attrs = {{"wave", wave}, {"fill", 0.5}},
          .inputs = {Normal(plan.RowDims({"embed", in})), Normal(plan.RowDims({"mlp", out})),
                     plan.counts},
          // Experts and their shards, and slots and parts of tokens, are split together only.
          .skip_dims = {"expert_shard", "expert", "slot", "token_shard"}};
}

TEST(GroupedDotGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const Plan& plan : OddPlans()) {
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      CheckCpuMatchesReference(GradCase(plan, wave, 19, 37), 1e-5);
    }
    CheckEverySharding(GradCase(plan, 0, 4, 6));
  }
  // More rows of an expert than one product sums, in two parts, and gradients of several blocks.
  CheckCpuMatchesReference(GradCase(MakePlan({.num_experts = 2, .capacity = 330, .token_shards = 2},
                                             RandomIds(8, 40, 2, 2, 3)),
                                    0, 200, 21),
                           1e-4);
}

TEST(GroupedDotGrad, ThreadsDoNotChangeABit) {
  const OpCase c = GradCase(
      MakePlan({.num_experts = 3, .capacity = 400, .token_shards = 2}, RandomIds(8, 40, 2, 3, 5)),
      0, 250, 40);
  const std::vector<HostTensor> inputs = MakeInputs(c);
  const std::vector<double> one = RunOp(c, inputs, {.cpu = true})[0].Values();
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(RunOp(c, inputs, {.cpu = true, .num_threads = threads})[0].Values(), one);
  }
}

TEST(GroupedDotGrad, ExpertsWithoutRowsGetZeroOrKeepWhatTheyHave) {
  const Plan plan = MakePlan({.num_experts = 3, .capacity = 3}, OneChoice({2, 0}));
  OpCase c = GradCase(plan, 0, 1, 1);
  c.inputs[0] = Given(plan.RowDims({"embed", 1}), DType::kFloat32, {2, 3, 100});
  c.inputs[1] = Given(plan.RowDims({"mlp", 1}), DType::kFloat32, {5, 7, 100});
  EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = true})[0].Values(), (std::vector<double>{10, 0, 21}));
  std::vector<HostTensor> sums = {HostTensor(DType::kFloat32, {3, 1, 1})};
  sums[0].Fill(1);
  RunInto(c, c.attrs, MakeInputs(c), {.cpu = true, .accumulate = true}, sums);
  EXPECT_EQ(sums[0].Values(), (std::vector<double>{11, 1, 22}));
}

}  // namespace
}  // namespace trireme
