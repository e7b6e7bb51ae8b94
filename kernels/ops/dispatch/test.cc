// dispatch: CPU equals reference on odd pools, splits, rows by hand. Its gradient is checked in
// dispatch_grad/test.cc.
#include <gtest/gtest.h>

#include "kernels/ops/dispatch_plan/test_plans.h"

namespace trireme {
namespace {

OpCase DispatchCase(const Plan& plan, int64_t wave, int64_t embed) {
  return {.op = "dispatch",
          .attrs = {{"wave", wave}, {"choices", plan.ids.dims[2].size}},
          .inputs = {Normal(plan.TokenDims({"embed", embed})), plan.source},
          .skip_dims = {"batch", "position"}};  // source counts its shard's tokens
}

TEST(Dispatch, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const Plan& plan : OddPlans()) {
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      CheckCpuMatchesReference(DispatchCase(plan, wave, 7), 0);
      CheckCpuMatchesReference(DispatchCase(plan, wave, 8), 0);
    }
    CheckEverySharding(DispatchCase(plan, plan.sizes.waves - 1, 6));
  }
}

TEST(Dispatch, CopiesTheTokenOfEachAssignment) {
  OpCase c = DispatchCase(MakePlan({.num_experts = 2, .capacity = 4, .waves = 2},
                                   Given({{"batch", 1}, {"position", 3}, {"choice", 2}},
                                         DType::kInt32, {1, 0, -1, -1, 0, 1})),
                          0, 1);
  c.inputs[0] = Given({{"batch", 1}, {"position", 3}, {"embed", 1}}, DType::kFloat32, {10, 20, 30});
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = cpu})[0].Values(),
              (std::vector<double>{10, 30, 10, 30}));
    OpCase second = c;
    second.attrs.Set("wave", int64_t{1});
    EXPECT_EQ(RunOp(second, MakeInputs(second), {.cpu = cpu})[0].Values(),
              (std::vector<double>{0, 0, 0, 0}));
  }
}

TEST(Dispatch, RefusesAWaveThatIsNotThere) {
  ExpectInferError(DispatchCase(OddPlans()[1], 5, 2), "wave=5 must be in [0, 5)");
}

}  // namespace
}  // namespace trireme
