// combine: gradient, CPU equals reference, splits; after dispatch over all waves it is a weighted
// copy of every token that is no padding.
#include <gtest/gtest.h>

#include "kernels/ops/dispatch_plan/test_plans.h"

namespace trireme {
namespace {

OpCase CombineCase(const Plan& plan, int64_t wave, int64_t embed) {
  return {.op = "combine",
          .attrs = {{"wave", wave}},
          .inputs = {Normal(plan.RowDims({"embed", embed})), plan.source,
                     Positive(plan.TokenDims(plan.ids.dims[2]))},
          .grad_inputs = {0, 2},
          .skip_dims = {"batch", "position"}};  // source counts its shard's tokens
}

TEST(Combine, GradientIsRight) {
  for (const Plan& plan : OddPlans()) CheckGradient(CombineCase(plan, 0, 3));
  CheckGradient(CombineCase(OddPlans()[1], 1, 3));
  CheckGradient(CombineCase(
      MakePlan({.num_experts = 4, .capacity = 5, .thin = 1}, RandomIds(2, 4, 2, 4, 8)), 0, 3));
}

TEST(Combine, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const Plan& plan : OddPlans()) {
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      CheckCpuMatchesReference(CombineCase(plan, wave, 7), 1e-6);
      CheckCpuMatchesReference(CombineCase(plan, wave, 8), 1e-6);
    }
    CheckEverySharding(CombineCase(plan, plan.sizes.waves - 1, 6));
  }
}

TEST(Combine, OfDispatchOverAllWavesIsAWeightedCopy) {
  for (const Plan& plan : OddPlans()) {
    const OpCase combine = CombineCase(plan, 0, 3);
    const OpCase dispatch = {.op = "dispatch",
                             .attrs = {{"wave", int64_t{0}}, {"choices", plan.ids.dims[2].size}},
                             .inputs = {Normal(plan.TokenDims({"embed", 3})), plan.source}};
    const std::vector<HostTensor> tokens = MakeInputs(dispatch), pool = MakeInputs(combine);
    HostTensor y(DType::kFloat32, tokens[0].sizes());
    std::vector<HostTensor> outputs = {y};
    for (int64_t wave = 0; wave < plan.sizes.waves; ++wave) {
      OpCase d = dispatch, c = combine;
      d.attrs.Set("wave", wave);
      c.attrs.Set("wave", wave);
      const HostTensor rows = RunOp(d, tokens, {.cpu = true})[0];
      RunInto(c, c.attrs, {rows, pool[1], pool[2]}, {.cpu = true, .accumulate = true}, outputs);
    }
    HostTensor expected = tokens[0];
    const int64_t choices = plan.ids.dims[2].size;
    for (int64_t i = 0; i < expected.count(); ++i) {
      double weight = 0;
      for (int64_t j = i / 3 * choices; j < (i / 3 + 1) * choices; ++j) {
        if (plan.ids.values[j] >= 0) weight += pool[2].Get(j);
      }
      expected.Set(i, weight * tokens[0].Get(i));
    }
    EXPECT_EQ(Difference(expected, outputs[0], 1e-6), "");
  }
}

TEST(Combine, ThreadsDoNotChangeABit) {
  const Plan plan = MakePlan({.num_experts = 8, .capacity = 800}, RandomIds(8, 32, 3, 8, 9));
  const OpCase c = CombineCase(plan, 0, 65);
  const std::vector<HostTensor> inputs = MakeInputs(c);
  const std::vector<double> one = RunOp(c, inputs, {.cpu = true})[0].Values();
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(RunOp(c, inputs, {.cpu = true, .num_threads = threads})[0].Values(), one);
  }
}

TEST(Combine, RefusesASourceOfOtherSlots) {
  OpCase c = CombineCase(OddPlans()[0], 0, 2);
  c.inputs[1] = Ids({{"wave", 1}, {"expert_shard", 1}, {"slot", 5}}, 2);
  ExpectInferError(c, "slot");
  ExpectInferError(CombineCase(OddPlans()[0], 1, 2), "wave=1 must be in [0, 1)");
}

}  // namespace
}  // namespace trireme
