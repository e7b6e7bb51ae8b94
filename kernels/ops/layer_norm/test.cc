// layer_norm: values, gradient, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t embed) {
  return {.op = "layer_norm",
          .attrs = {{"eps", 1e-5}},
          .inputs = {Normal({{"batch", batch}, {"position", position}, {"embed", embed}}),
                     Positive({{"embed", embed}}), Normal({{"embed", embed}})}};
}

TEST(LayerNorm, GivesMeanZeroAndDeviationOneBeforeWeightAndBias) {
  const OpCase c{.op = "layer_norm",
                 .attrs = {{"eps", 0.0}},
                 .inputs = {Given({{"n", 1}, {"embed", 2}}, DType::kFloat64, {1, 7}),
                            Given({{"embed", 2}}, DType::kFloat64, {10, 1}),
                            Given({{"embed", 2}}, DType::kFloat64, {0.5, 0})}};
  const std::vector<HostTensor> out = RunOp(c, MakeInputs(c));
  EXPECT_NEAR(out[0].Get(0), -9.5, 1e-12);
  EXPECT_NEAR(out[0].Get(1), 1, 1e-12);
  EXPECT_NEAR(out[1].Get(0), 4, 1e-12);
  EXPECT_NEAR(out[2].Get(0), 1.0 / 3, 1e-12);
}

TEST(LayerNorm, Gradient) {
  CheckGradient(Case(2, 3, 5));
  CheckGradient(Case(1, 1, 3));
}

TEST(LayerNorm, EverySharding) { CheckEverySharding(Case(2, 6, 6)); }

TEST(LayerNorm, ConstantRowsStayFinite) {
  OpCase c = Case(1, 1, 7);
  c.inputs[0] = Given(c.inputs[0].dims, DType::kFloat32, std::vector<double>(7, 2.0));
  CheckCpuMatchesReference(c, 1e-5);
}

TEST(LayerNorm, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1, 1), 1e-5);
  CheckCpuMatchesReference(Case(3, 5, 7), 1e-5);
  CheckCpuMatchesReference(Case(2, 33, 129), 1e-5);
  CheckCpuMatchesReference(Case(1, 3, 1025), 1e-5);
  CheckCpuMatchesReference(Case(1, 37, 33), 1e-5);
}

TEST(LayerNorm, RefusesABiasOfAnotherDim) {
  OpCase c = Case(2, 3, 4);
  c.inputs[2] = Normal({{"embed", 5}});
  ExpectInferError(c, "must have dims [embed 4]");
}

}  // namespace
}  // namespace trireme
