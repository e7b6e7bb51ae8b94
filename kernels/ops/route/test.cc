// The router: gradient away from ties, choice by hand, ties, splits.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase RouteCase(int64_t batch, int64_t experts, int64_t k) {
  return {.op = "route",
          .attrs = {{"k", k}},
          .inputs = {Normal({{"batch", batch}, {"position", 3}, {"router_expert", experts}})},
          .grad_outputs = {1}};
}

OpCase OneToken(const std::vector<double>& logits, int64_t k) {
  OpCase c = RouteCase(1, 1, k);
  const Dim experts = {"router_expert", static_cast<int64_t>(logits.size())};
  c.inputs = {Given({{"batch", 1}, experts}, DType::kFloat64, logits)};
  return c;
}

TEST(Route, GradientIsRight) {
  CheckGradient(RouteCase(2, 5, 2));
  CheckGradient(RouteCase(2, 5, 5));
}

TEST(Route, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  CheckCpuMatchesReference(RouteCase(5, 7, 3), 1e-6);
  CheckCpuMatchesReference(RouteCase(1, 1, 1), 1e-6);
  CheckEverySharding(RouteCase(6, 4, 2));
}

TEST(Route, WeightsAreTheSoftmaxOfTheChosen) {
  const OpCase c = OneToken({std::log(1), std::log(6), std::log(2)}, 2);
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  EXPECT_EQ(outputs[0].Values(), (std::vector<double>{1, 2}));
  EXPECT_NEAR(outputs[1].Get(0), 0.75, 1e-15);
  EXPECT_NEAR(outputs[1].Get(1), 0.25, 1e-15);
}

TEST(Route, TiesGoToTheLowerId) {
  const OpCase c = OneToken({1, 2, 2, 1, 2}, 4);
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), (std::vector<double>{1, 2, 4, 0}));
  CheckCpuMatchesReference(c, 1e-6);
}

TEST(Route, ChoosesValidDifferentIdsEvenAmongNans) {
  const OpCase c = OneToken({std::nan(""), std::nan(""), std::nan("")}, 2);
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), (std::vector<double>{0, 1}));
}

TEST(Route, RefusesMoreChoicesThanExperts) {
  ExpectInferError(RouteCase(1, 3, 4), "k=4 must be between 1 and the 3 experts");
}

}  // namespace
}  // namespace trireme
