// The head's gradient on shards, odd shapes and padding; its values are checked against differences
// in linear_cross_entropy/test.cc.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// With the lse that the forward would have kept: both cases draw the same x, w and targets.
OpCase GradCase(int64_t batch, int64_t vocab, int64_t embed, int64_t vocab_size,
                int64_t vocab_start = 0) {
  const std::vector<Dim> tokens = {{"batch", batch}, {"position", 3}};
  OpCase c = {.op = "linear_logsumexp",
              .attrs = {{"vocab_size", vocab_size}, {"vocab_start", vocab_start}},
              .inputs = {Normal({{"batch", batch}, {"position", 3}, {"embed", embed}}),
                         Normal({{"vocab", vocab}, {"embed", embed}}), Ids(tokens, vocab_size)}};
  const HostTensor lse = RunOp(c, MakeInputs(c))[0];
  c.op = "linear_cross_entropy_grad";
  c.inputs.push_back(Positive(tokens));
  c.inputs.push_back(Given(tokens, DType::kFloat32, lse.Values()));
  c.inputs.push_back(Given({}, DType::kFloat64, {0.5}));
  return c;
}

TEST(LinearCrossEntropyGrad, CpuMatchesReferenceOnOddShapes) {
  CheckCpuMatchesReference(GradCase(2, 7, 5, 7), 1e-4);
  CheckCpuMatchesReference(GradCase(1, 2, 1, 2), 1e-4);  // one row would have no gradient
  CheckCpuMatchesReference(GradCase(9, 67, 13, 61), 1e-4);
}

TEST(LinearCrossEntropyGrad, CpuMatchesReferenceOnALaterShard) {
  CheckCpuMatchesReference(GradCase(9, 20, 13, 33, 16), 1e-4);  // rows 16 to 35 of 33
}

TEST(LinearCrossEntropyGrad, EverySplitGivesTheSame) {
  CheckEverySharding(GradCase(2, 6, 5, 6));
  CheckEverySharding(GradCase(6, 12, 5, 7));  // whole shards of padding
}

TEST(LinearCrossEntropyGrad, PaddedRowsAndTokensWithoutWeightGetZero) {
  OpCase c = GradCase(1, 4, 2, 3);
  c.inputs[3] = Given({{"batch", 1}, {"position", 3}}, DType::kFloat32, {1, 0, 2});
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  for (int e : {0, 1}) {
    EXPECT_EQ(outputs[0].Get(1 * 2 + e), 0);
    EXPECT_NE(outputs[0].Get(2 * 2 + e), 0);
    EXPECT_EQ(outputs[1].Get(3 * 2 + e), 0);
    EXPECT_NE(outputs[1].Get(2 * 2 + e), 0);
  }
}

}  // namespace
}  // namespace trireme
