// Each decision of a step, by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/ops/step_control/layout.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

struct Sums {
  double loss = 30;
  double weight = 10;
  double grad_sum_squares = 9;
  double non_finite = 0;
};

// The control block after a step with 10 expected units of weight, clip at 1, after `applied`
// updates.
std::vector<double> Control(const Sums& sums, double applied = 0, double max_grad_norm = 1) {
  std::vector<double> control(kControlSize);
  control[kControlStep] = 7;
  control[kControlAppliedStep] = applied;
  const OpCase c = {
      .op = "step_control",
      .attrs = {{"max_grad_norm", max_grad_norm},
                {"beta1", 0.9},
                {"beta2", 0.99},
                {"expected_weight", 10.0}},
      .inputs = {Given({{"control", kControlSize}}, DType::kFloat64, control),
                 Given({{"reduce", kReduceSize}}, DType::kFloat64,
                       {sums.loss, sums.weight, sums.grad_sum_squares, sums.non_finite}),
                 Given({{"steps", 3}}, DType::kFloat32, {0.5, 0.25, 0.125})},
      .in_place = {{0, 0}}};
  if (std::isfinite(sums.grad_sum_squares)) CheckCpuMatchesReference(c, 1e-12);
  return RunOp(c, MakeInputs(c))[0].Values();
}

TEST(StepControl, ClipsByTheGlobalNorm) {
  const std::vector<double> control = Control({});
  EXPECT_EQ(control[kControlStep], 7);
  EXPECT_EQ(control[kControlAppliedStep], 1);
  EXPECT_DOUBLE_EQ(control[kControlLoss], 3);
  EXPECT_DOUBLE_EQ(control[kControlGradNorm], 3);
  EXPECT_DOUBLE_EQ(control[kControlGradScale], 1.0 / 3);
  EXPECT_EQ(control[kControlLearningRate], 0.5);
  EXPECT_DOUBLE_EQ(control[kControlBiasCorrection1], 1 - 0.9);
  EXPECT_DOUBLE_EQ(control[kControlBiasCorrection2], 1 - 0.99);
  EXPECT_EQ(control[kControlApply], 1);
  EXPECT_EQ(control[kControlWeight], 10);
}

TEST(StepControl, DoesNotClipBelowTheLimitNorWithoutOne) {
  EXPECT_EQ(Control({.grad_sum_squares = 0.25})[kControlGradScale], 1);
  EXPECT_EQ(Control({.grad_sum_squares = 0})[kControlGradScale], 1);
  EXPECT_EQ(Control({}, 0, /*max_grad_norm=*/0)[kControlGradScale], 1);
}

TEST(StepControl, CorrectsForTheActualWeight) {
  // Half the expected weight: gradients of the mean loss are twice what was accumulated.
  const std::vector<double> control = Control({.weight = 5, .grad_sum_squares = 0.04});
  EXPECT_DOUBLE_EQ(control[kControlLoss], 6);
  EXPECT_DOUBLE_EQ(control[kControlGradNorm], 0.4);
  EXPECT_DOUBLE_EQ(control[kControlGradScale], 2);
  EXPECT_DOUBLE_EQ(Control({.weight = 5})[kControlGradScale], 2 * (1.0 / 6));
}

TEST(StepControl, SkipsNonFiniteAndEmptySteps) {
  const Sums skipped[] = {{.non_finite = 2},
                          {.grad_sum_squares = std::nan("")},
                          {.grad_sum_squares = std::numeric_limits<double>::infinity()},
                          {.loss = 0, .weight = 0}};
  for (const Sums& sums : skipped) {
    const std::vector<double> control = Control(sums, 4);
    EXPECT_EQ(control[kControlApply], 0);
    EXPECT_EQ(control[kControlAppliedStep], 4);
    EXPECT_TRUE(std::isfinite(control[kControlLoss]));
  }
}

TEST(StepControl, FollowsTheTableOfLearningRatesByAppliedSteps) {
  EXPECT_EQ(Control({}, 1)[kControlLearningRate], 0.25);
  EXPECT_EQ(Control({}, 2)[kControlLearningRate], 0.125);
  EXPECT_EQ(Control({}, 9)[kControlLearningRate], 0.125);
  EXPECT_DOUBLE_EQ(Control({}, 9)[kControlBiasCorrection1], 1 - std::pow(0.9, 10));
}

TEST(StepControl, RefusesBlocksOfAnotherSize) {
  OpCase c = {
      .op = "step_control",
      .attrs = {{"max_grad_norm", 1.0}, {"beta1", 0.9}, {"beta2", 0.99}, {"expected_weight", 10.0}},
      .inputs = {Normal({{"control", 15}}, DType::kFloat64),
                 Normal({{"reduce", 4}}, DType::kFloat64), Normal({{"steps", 3}})}};
  ExpectInferError(c, "must have 16 elements");
}

}  // namespace
}  // namespace trireme
