// rms_norm: values, gradient, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t embed) {
  return {.op = "rms_norm",
          .attrs = {{"eps", 1e-5}},
          .inputs = {Normal({{"batch", batch}, {"position", position}, {"embed", embed}}),
                     Positive({{"embed", embed}})}};
}

// Without a weight.
OpCase Plain(OpCase c) {
  c.inputs.pop_back();
  return c;
}

// Each head of a query or key by itself.
OpCase HeadCase(int64_t batch, int64_t position, int64_t heads, int64_t head_dim) {
  return {
      .op = "rms_norm",
      .attrs = {{"eps", 1e-6}},
      .inputs = {
          Normal(
              {{"batch", batch}, {"position", position}, {"heads", heads}, {"head_dim", head_dim}}),
          Positive({{"head_dim", head_dim}})}};
}

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  const OpCase c{.op = "rms_norm",
                 .attrs = {{"eps", 0.0}},
                 .inputs = {Given({{"n", 1}, {"embed", 2}}, DType::kFloat64, {1, 7}),
                            Given({{"embed", 2}}, DType::kFloat64, {10, 1})}};
  const std::vector<HostTensor> out = RunOp(c, MakeInputs(c));
  EXPECT_NEAR(out[0].Get(0), 2, 1e-12);
  EXPECT_NEAR(out[0].Get(1), 1.4, 1e-12);
  EXPECT_NEAR(out[1].Get(0), 0.2, 1e-12);
  const HostTensor plain = RunOp(Plain(c), {MakeInputs(c)[0]})[0];
  EXPECT_NEAR(plain.Get(0), 0.2, 1e-12);
  EXPECT_NEAR(plain.Get(1), 1.4, 1e-12);
}

TEST(RmsNorm, Gradient) {
  CheckGradient(Case(2, 3, 5));
  CheckGradient(Case(1, 1, 1));
  CheckGradient(HeadCase(2, 3, 2, 4));
  CheckGradient(Plain(HeadCase(2, 3, 2, 4)));
  CheckGradient(Plain(Case(2, 3, 5)));
}

TEST(RmsNorm, EverySharding) {
  CheckEverySharding(Case(2, 6, 6));
  CheckEverySharding(HeadCase(2, 3, 6, 4));
  CheckEverySharding(Plain(HeadCase(2, 3, 6, 4)));
}

TEST(RmsNorm, RowsOfZerosStayFinite) {
  OpCase c = Case(1, 1, 7);
  c.inputs[0] = Given(c.inputs[0].dims, DType::kFloat32, std::vector<double>(7, 0.0));
  CheckCpuMatchesReference(c, 1e-5);
}

TEST(RmsNorm, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1, 1), 1e-5);
  CheckCpuMatchesReference(Case(3, 5, 7), 1e-5);
  CheckCpuMatchesReference(Case(2, 33, 129), 1e-5);
  CheckCpuMatchesReference(HeadCase(2, 33, 4, 64), 1e-5);
  CheckCpuMatchesReference(Plain(HeadCase(2, 33, 4, 64)), 1e-5);
  CheckCpuMatchesReference(Plain(Case(3, 5, 7)), 1e-5);
}

TEST(RmsNorm, RefusesAWeightOfAnotherDim) {
  OpCase c = Case(2, 3, 4);
  c.inputs[1] = Positive({{"mlp", 4}});
  ExpectInferError(c, "must have dims [embed 4]");
  c = Case(2, 3, 4);
  c.attrs = {};
  ExpectInferError(c, "needs the attribute eps");
}

}  // namespace
}  // namespace trireme
