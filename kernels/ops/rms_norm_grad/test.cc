// rms_norm_grad: shardings, accumulation, odd sizes, errors; its values are checked by rms_norm's
// gradient.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(int64_t batch, int64_t position, int64_t embed) {
  const std::vector<Dim> x{{"batch", batch}, {"position", position}, {"embed", embed}};
  return {.op = "rms_norm_grad",
          .inputs = {Normal(x), Normal(x), Positive({{"embed", embed}}),
                     Positive({{"batch", batch}, {"position", position}})}};
}

// Heads, each by itself; the weight's gradient sums over batch, position and heads.
OpCase HeadCase(int64_t batch, int64_t position, int64_t heads, int64_t head_dim) {
  const std::vector<Dim> rows{{"batch", batch}, {"position", position}, {"heads", heads}};
  std::vector<Dim> x = rows;
  x.push_back({"head_dim", head_dim});
  return {.op = "rms_norm_grad",
          .inputs = {Normal(x), Normal(x), Positive({{"head_dim", head_dim}}), Positive(rows)}};
}

// Without a weight.
OpCase Plain(OpCase c) {
  c.inputs.erase(c.inputs.begin() + 2);
  return c;
}

TEST(RmsNormGrad, EverySharding) {
  CheckEverySharding(Case(2, 6, 6));
  CheckEverySharding(HeadCase(2, 3, 6, 4));
  CheckEverySharding(Plain(HeadCase(2, 3, 6, 4)));
}

TEST(RmsNormGrad, WithoutAWeightThereIsOneGradient) {
  EXPECT_EQ(InferCase(HeadCase(1, 2, 3, 4))->size(), 2u);
  EXPECT_EQ(InferCase(Plain(HeadCase(1, 2, 3, 4)))->size(), 1u);
}

TEST(RmsNormGrad, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1, 1), 1e-5);
  CheckCpuMatchesReference(Case(3, 5, 7), 1e-5);
  CheckCpuMatchesReference(Case(2, 33, 129), 1e-4);
  CheckCpuMatchesReference(Case(1, 3, 1025), 1e-4);
  CheckCpuMatchesReference(Case(1, 37, 33), 1e-4);
  CheckCpuMatchesReference(HeadCase(2, 33, 4, 64), 1e-4);
  CheckCpuMatchesReference(Plain(HeadCase(2, 33, 4, 64)), 1e-4);
  CheckCpuMatchesReference(Plain(Case(3, 5, 7)), 1e-4);
}

TEST(RmsNormGrad, RefusesStatisticsOfOtherRows) {
  OpCase c = Case(2, 3, 4);
  c.inputs[3] = Positive({{"batch", 2}});
  ExpectInferError(c, "must have dims [batch 2, position 3]");
}

}  // namespace
}  // namespace trireme
