// rope: values, inverse, gradient, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t heads, int64_t size, int64_t inverse = 0,
            int64_t rotary = -1) {
  Attrs attrs{{"theta", 10000.0}, {"inverse", inverse}};
  if (rotary >= 0) attrs.Set("rotary_dim", rotary);
  return {
      .op = "rope",
      .attrs = attrs,
      .inputs = {
          Normal({{"batch", batch}, {"position", position}, {"heads", heads}, {"head_dim", size}}),
          Ids({{"batch", batch}, {"position", position}}, 100)}};
}

// Position 3, head_dim 4: the pair (0, 2) turns by 3, the pair (1, 3) by 3 * theta^(-1/2) = 0.03.
TEST(Rope, TurnsPairsHalfAHeadApart) {
  OpCase c = Case(1, 1, 1, 4);
  c.inputs = {Given(c.inputs[0].dims, DType::kFloat64, {1, 1, 0, 0}),
              Given(c.inputs[1].dims, DType::kInt32, {3})};
  const std::vector<double> expected{std::cos(3.0), std::cos(0.03), std::sin(3.0), std::sin(0.03)};
  const HostTensor y = RunOp(c, MakeInputs(c))[0];
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(y.Get(i), expected[i], 1e-12) << i;
}

// Of 6 elements the first 4 turn as a head of 4 would; the others stay.
TEST(Rope, TurnsTheFirstPartOnly) {
  OpCase c = Case(1, 1, 1, 6, 0, 4);
  c.inputs = {Given(c.inputs[0].dims, DType::kFloat64, {1, 1, 0, 0, 7, 8}),
              Given(c.inputs[1].dims, DType::kInt32, {3})};
  const std::vector<double> expected{
      std::cos(3.0), std::cos(0.03), std::sin(3.0), std::sin(0.03), 7, 8};
  const HostTensor y = RunOp(c, MakeInputs(c))[0];
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(y.Get(i), expected[i], 1e-12) << i;
}

TEST(Rope, NoPartOrAllOfAHead) {
  const OpCase none = Case(2, 3, 2, 6, 0, 0);
  const std::vector<HostTensor> inputs = MakeInputs(none);
  for (const bool cpu : {false, true}) {
    const RunOptions options{.cpu = cpu};
    EXPECT_EQ(Difference(inputs[0], RunOp(none, inputs, options)[0], 0), "");
    EXPECT_EQ(Difference(RunOp(Case(2, 3, 2, 6), inputs, options)[0],
                         RunOp(Case(2, 3, 2, 6, 0, 6), inputs, options)[0], 0),
              "");
  }
}

TEST(Rope, InverseUndoes) {
  const OpCase c = InFloat64(Case(2, 3, 2, 6));
  std::vector<HostTensor> inputs = MakeInputs(c);
  const HostTensor x = inputs[0];
  inputs[0] = RunOp(c, inputs)[0];
  EXPECT_EQ(Difference(x, RunOp(InFloat64(Case(2, 3, 2, 6, 1)), inputs)[0], 1e-12), "");
}

TEST(Rope, Gradient) {
  CheckGradient(Case(2, 3, 2, 4));
  CheckGradient(Case(1, 3, 1, 2, 1));
  CheckGradient(Case(2, 3, 2, 7, 0, 4));
}

TEST(Rope, EverySharding) {
  CheckEverySharding(Case(2, 6, 6, 4));
  CheckEverySharding(Case(2, 6, 6, 5, 0, 2));
}

TEST(Rope, CpuMatchesReference) {
  for (const int64_t inverse : {0, 1}) {
    CheckCpuMatchesReference(Case(1, 1, 1, 2, inverse), 1e-4);
    CheckCpuMatchesReference(Case(3, 5, 7, 6, inverse), 1e-4);
    CheckCpuMatchesReference(Case(2, 33, 3, 64, inverse), 1e-4);
    CheckCpuMatchesReference(Case(2, 33, 3, 64, inverse, 32), 1e-4);
    CheckCpuMatchesReference(Case(3, 5, 7, 7, inverse, 2), 1e-4);
  }
}

TEST(Rope, RefusesOddHeadsAndOtherPositions) {
  ExpectInferError(Case(1, 2, 1, 3), "must be even");
  ExpectInferError(Case(1, 2, 1, 4, 0, 3), "rotary_dim 3 must be even");
  ExpectInferError(Case(1, 2, 1, 4, 0, 6), "rotary_dim 6 must be at most its last dim");
  OpCase c = Case(1, 2, 1, 4);
  c.inputs[1] = Ids({{"batch", 1}, {"key_position", 2}}, 5);
  ExpectInferError(c, "must have dims [batch 1, position 2]");
}

}  // namespace
}  // namespace trireme
