// dispatch_grad: CPU equals reference, splits, sums by hand; and it is the adjoint of dispatch.
#include <gtest/gtest.h>

#include "kernels/ops/dispatch_plan/test_plans.h"

namespace trireme {
namespace {

OpCase GradCase(const Plan& plan, int64_t wave, int64_t embed) {
  return {.op = "dispatch_grad",
          .attrs = {{"wave", wave}},
          .inputs = {Normal(plan.RowDims({"embed", embed})), plan.source, plan.ids},
          .skip_dims = {"batch", "position"}};  // source counts its shard's tokens
}

TEST(DispatchGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const Plan& plan : OddPlans()) {
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      CheckCpuMatchesReference(GradCase(plan, wave, 7), 1e-6);
      CheckCpuMatchesReference(GradCase(plan, wave, 8), 1e-6);
    }
    CheckEverySharding(GradCase(plan, plan.sizes.waves - 1, 6));
  }
}

TEST(DispatchGrad, SumsTheRowsOfATokenAndSkipsTheDropped) {
  OpCase c = GradCase(MakePlan({.num_experts = 2, .capacity = 4, .thin = 1},
                               Given({{"batch", 1}, {"position", 3}, {"choice", 2}}, DType::kInt32,
                                     {1, 0, 0, 1, 0, 1})),
                      0, 1);
  // Assignments by expert: 1, 2, 4 | 0, 3, 5. Thinned to four: 2, 4, 3, 5.
  c.inputs[0] =
      Given({{"expert_shard", 1}, {"slot", 4}, {"embed", 1}}, DType::kFloat32, {1, 2, 4, 8});
  EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = true})[0].Values(), (std::vector<double>{0, 5, 10}));
}

double Dot(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) sum += a.Get(i) * b.Get(i);
  return sum;
}

// dispatch is linear in x: <dispatch(x), drows> = <x, dispatch_grad(drows)> for every x and drows
// is what its gradient is.
TEST(DispatchGrad, IsTheAdjointOfDispatch) {
  for (const Plan& plan : OddPlans()) {
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      OpCase grad = InFloat64(GradCase(plan, wave, 3));
      const OpCase forward = {
          .op = "dispatch",
          .attrs = {{"wave", wave}, {"choices", plan.ids.dims[2].size}},
          .inputs = {Normal(plan.TokenDims({"embed", 3}), DType::kFloat64), plan.source},
          .seed = 7};
      const std::vector<HostTensor> x = MakeInputs(forward), drows = MakeInputs(grad);
      const double there = Dot(RunOp(forward, x)[0], drows[0]);
      EXPECT_NEAR(there, Dot(x[0], RunOp(grad, drows)[0]), 1e-9);
    }
  }
}

}  // namespace
}  // namespace trireme
