// combine_weight_grad in every split, also of embed; assignments of other waves get 0 or keep what
// they have. Values are checked against central differences in combine/test.cc.
#include <gtest/gtest.h>

#include "kernels/ops/dispatch_plan/test_plans.h"

namespace trireme {
namespace {

OpCase GradCase(const Plan& plan, int64_t wave, int64_t embed) {
  return {
      .op = "combine_weight_grad",
      .attrs = {{"wave", wave}},
      .inputs = {Normal(plan.TokenDims({"embed", embed})), Normal(plan.RowDims({"embed", embed})),
                 plan.source, Positive(plan.TokenDims(plan.ids.dims[2]))},
      .skip_dims = {"batch", "position"}};  // source counts its shard's tokens
}

TEST(CombineWeightGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const Plan& plan : OddPlans()) {
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      CheckCpuMatchesReference(GradCase(plan, wave, 7), 1e-5);
      CheckCpuMatchesReference(GradCase(plan, wave, 8), 1e-5);
    }
    CheckEverySharding(GradCase(plan, plan.sizes.waves - 1, 6));
  }
}

TEST(CombineWeightGrad, OtherWavesGetZero) {
  const Plan plan =
      MakePlan({.num_experts = 1, .capacity = 3, .waves = 2}, OneChoice({0, 0, -1, 0, 0}));
  const OpCase c = GradCase(plan, 1, 2);  // holds assignment 4 alone
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c), {.cpu = true});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outputs[0].Get(i) == 0, i != 4) << i;
}

}  // namespace
}  // namespace trireme
