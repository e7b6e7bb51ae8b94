// The router's gradient: fast = reference, every split, what sums to zero, who gets none; values
// are checked against differences in route/test.cc.
#include <gtest/gtest.h>

#include "kernels/ops/route/test_cases.h"

namespace trireme {
namespace {

// k = 2 of `experts`; the last expert is chosen by nobody, every third token is padding.
OpCase GradCase(const RouterForm& form, int64_t batch, int64_t experts = 3) {
  const std::vector<Dim> choices = {{"batch", batch}, {"choice", 2}};
  std::vector<double> ids;
  for (int64_t token = 0; token < batch; ++token) {
    const int64_t first = token % (experts - 1);
    ids.push_back(token % 3 == 2 ? -1 : static_cast<double>(first));
    ids.push_back(token % 3 == 2 ? -1 : static_cast<double>((first + 1) % (experts - 1)));
  }
  return {.op = "route_grad",
          .attrs = {{"score", form.score},
                    {"renormalise", form.renormalise},
                    {"total", form.total},
                    {"eps", form.eps}},
          .inputs = {Normal(choices), Normal({{"batch", batch}, {"router_expert", experts}}),
                     Given(choices, DType::kInt32, ids)}};
}

TEST(RouteGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  for (const RouterForm& form : AllForms()) {
    CheckCpuMatchesReference(GradCase(form, 7), 1e-5);
    CheckCpuMatchesReference(GradCase(form, 200, 64), 1e-5);
    CheckEverySharding(GradCase(form, 6));
  }
}

// Weights that sum to a constant do not change when all chosen logits rise together.
TEST(RouteGrad, RenormalisedSoftmaxSumsToZeroAndIsZeroElsewhere) {
  const OpCase c = InFloat64(GradCase(MixtralForm(), 5));
  const HostTensor dlogits = RunOp(c, MakeInputs(c))[0];
  for (int64_t token : {0, 1, 3, 4}) {
    EXPECT_NE(dlogits.Get(token * 3), 0);
    EXPECT_NEAR(dlogits.Get(token * 3) + dlogits.Get(token * 3 + 1), 0, 1e-15);
    EXPECT_EQ(dlogits.Get(token * 3 + 2), 0);
  }
}

// Probabilities over all experts: raising an expert that was not chosen lowers the others.
TEST(RouteGrad, PlainSoftmaxReachesExpertsNobodyChose) {
  const OpCase c = GradCase({"softmax", "none", 0, 1, 0}, 2);
  for (const bool cpu : {false, true}) {
    const HostTensor dlogits = RunOp(c, MakeInputs(c), {.cpu = cpu})[0];
    for (int64_t token : {0, 1}) {
      EXPECT_NE(dlogits.Get(token * 3 + 2), 0);
      double sum = 0;
      for (int64_t e = 0; e < 3; ++e) sum += dlogits.Get(token * 3 + e);
      EXPECT_NEAR(sum, 0, 1e-6);
    }
  }
}

TEST(RouteGrad, PaddingGetsNone) {
  for (const RouterForm& form : AllForms()) {
    const OpCase c = GradCase(form, 3);
    for (const bool cpu : {false, true}) {
      const HostTensor dlogits = RunOp(c, MakeInputs(c), {.cpu = cpu})[0];
      for (int64_t e = 0; e < 3; ++e) EXPECT_EQ(dlogits.Get(2 * 3 + e), 0);
    }
  }
}

}  // namespace
}  // namespace trireme
