// Two updates worked out by hand, the skipped update, odd sizes.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/ops/step_control/layout.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

std::vector<double> ControlBlock(double apply, int update) {
  std::vector<double> control(kControlSize);
  control[kControlLearningRate] = 0.1;
  control[kControlGradScale] = 0.5;
  control[kControlBiasCorrection1] = update == 1 ? 0.5 : 0.75;     // beta1 = 0.5
  control[kControlBiasCorrection2] = update == 1 ? 0.25 : 0.4375;  // beta2 = 0.75
  control[kControlApply] = apply;
  return control;
}

OpCase AdamCase(const std::vector<Dim>& dims, const std::vector<double>& control) {
  return {.op = "adamw",
          .attrs = {{"beta1", 0.5}, {"beta2", 0.75}, {"epsilon", 0.0}, {"weight_decay", 0.01}},
          .inputs = {Normal(dims), Normal(dims), Normal(dims), Positive(dims),
                     Given({{"control", kControlSize}}, DType::kFloat64, control)},
          .in_place = {{0, 0}, {1, 2}, {2, 3}}};
}

TEST(Adamw, MatchesTwoUpdatesByHand) {
  // Update 1: g' = 0.5 * 4 = 2; m = 1, v = 1; m^ = 2, v^ = 4; p = 1 - 0.1 * (2/2 + 0.01) = 0.899.
  OpCase c = AdamCase({{"n", 1}}, ControlBlock(1, 1));
  for (int i : {0, 1, 2, 3}) {
    c.inputs[i] = Given({{"n", 1}}, DType::kFloat64, {i == 0 ? 1.0 : i == 1 ? 4.0 : 0.0});
  }
  std::vector<HostTensor> state = RunOp(c, MakeInputs(c));
  EXPECT_NEAR(state[0].Get(0), 0.899, 1e-15);
  EXPECT_DOUBLE_EQ(state[1].Get(0), 1);
  EXPECT_DOUBLE_EQ(state[2].Get(0), 1);
  // Update 2: g' = 0.5 * -2 = -1; m = 0.5 - 0.5 = 0; v = 0.75 + 0.25 = 1; p -= 0.1 * 0.01 * 0.899.
  c.inputs[0] = Given({{"n", 1}}, DType::kFloat64, {0.899});
  c.inputs[1] = Given({{"n", 1}}, DType::kFloat64, {-2});
  c.inputs[2] = Given({{"n", 1}}, DType::kFloat64, {1});
  c.inputs[3] = Given({{"n", 1}}, DType::kFloat64, {1});
  c.inputs[4] = Given({{"control", kControlSize}}, DType::kFloat64, ControlBlock(1, 2));
  state = RunOp(c, MakeInputs(c));
  EXPECT_NEAR(state[0].Get(0), 0.899 * (1 - 0.001), 1e-15);
  EXPECT_DOUBLE_EQ(state[1].Get(0), 0);
  EXPECT_DOUBLE_EQ(state[2].Get(0), 1);
}

TEST(Adamw, ChangesNothingWhenTheStepIsSkipped) {
  const OpCase c = AdamCase({{"embed", 3}, {"mlp", 5}}, ControlBlock(0, 1));
  std::vector<HostTensor> inputs = MakeInputs(c);
  inputs[1].Set(4, std::numeric_limits<double>::quiet_NaN());
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> state = RunOp(c, inputs, {.cpu = cpu});
    EXPECT_EQ(state[0].Values(), inputs[0].Values());
    EXPECT_EQ(state[1].Values(), inputs[2].Values());
    EXPECT_EQ(state[2].Values(), inputs[3].Values());
  }
}

TEST(Adamw, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  OpCase c = AdamCase({{"embed", 7}, {"mlp", 11}}, ControlBlock(1, 2));
  c.attrs.Set("epsilon", 1e-8);
  CheckCpuMatchesReference(c, 1e-5);
  c = AdamCase({{"n", 1}}, ControlBlock(1, 2));
  CheckCpuMatchesReference(c, 1e-5);
  CheckEverySharding(AdamCase({{"embed", 6}, {"mlp", 4}}, ControlBlock(1, 2)));
}

TEST(Adamw, RefusesStatesOfAnotherShape) {
  OpCase c = AdamCase({{"n", 4}}, ControlBlock(1, 1));
  c.inputs[2] = Normal({{"n", 5}});
  ExpectInferError(c, "m (in2) [n 5] must begin with [n 4]");
}

}  // namespace
}  // namespace trireme
