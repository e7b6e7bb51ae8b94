// rope: values, inverse, gradient, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t heads, int64_t size, int64_t inverse = 0) {
  return {
      .op = "rope",
      .attrs = {{"theta", 10000.0}, {"inverse", inverse}},
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
}

TEST(Rope, EverySharding) { CheckEverySharding(Case(2, 6, 6, 4)); }

TEST(Rope, CpuMatchesReference) {
  for (const int64_t inverse : {0, 1}) {
    CheckCpuMatchesReference(Case(1, 1, 1, 2, inverse), 1e-4);
    CheckCpuMatchesReference(Case(3, 5, 7, 6, inverse), 1e-4);
    CheckCpuMatchesReference(Case(2, 33, 3, 64, inverse), 1e-4);
  }
}

TEST(Rope, RefusesOddHeadsAndOtherPositions) {
  ExpectInferError(Case(1, 2, 1, 3), "must be even");
  OpCase c = Case(1, 2, 1, 4);
  c.inputs[1] = Ids({{"batch", 1}, {"key_position", 2}}, 5);
  ExpectInferError(c, "must have dims [batch 1, position 2]");
}

}  // namespace
}  // namespace trireme
