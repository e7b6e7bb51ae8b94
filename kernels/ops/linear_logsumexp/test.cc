// A vocabulary shard's logsumexp: splits over tokens, padding, targets elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase ShardCase(int64_t tokens, int64_t rows, int64_t embed, int64_t start, int64_t vocab_size) {
  return {.op = "linear_logsumexp",
          .attrs = {{"vocab_size", vocab_size}, {"vocab_start", start}},
          .inputs = {Normal({{"batch", tokens}, {"position", 3}, {"embed", embed}}),
                     Normal({{"vocab", rows}, {"embed", embed}}),
                     Ids({{"batch", tokens}, {"position", 3}}, vocab_size)},
          .skip_dims = {"vocab"}};
}

TEST(LinearLogsumexp, CpuMatchesReferenceOnOddShapes) {
  CheckCpuMatchesReference(ShardCase(2, 7, 5, 0, 7), 1e-5);
  CheckCpuMatchesReference(ShardCase(1, 1, 1, 0, 1), 1e-5);
  CheckCpuMatchesReference(ShardCase(11, 67, 33, 40, 100), 1e-5);
  CheckCpuMatchesReference(ShardCase(2, 5, 3, 10, 10), 1e-5);  // no valid row
}

TEST(LinearLogsumexp, SplitsOverTokens) { CheckEverySharding(ShardCase(6, 7, 5, 2, 8)); }

TEST(LinearLogsumexp, MasksPaddingAndTargetsElsewhere) {
  OpCase c = ShardCase(1, 3, 1, 4, 6);
  c.inputs[0] = Given({{"batch", 1}, {"position", 3}, {"embed", 1}}, DType::kFloat64, {1, 1, 1});
  c.inputs[1] = Given({{"vocab", 3}, {"embed", 1}}, DType::kFloat64, {2, 3, 1000});
  c.inputs[2] = Given({{"batch", 1}, {"position", 3}}, DType::kInt32, {3, 5, 4});
  std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  for (int i : {0, 1, 2}) {
    EXPECT_NEAR(outputs[0].Get(i), std::log(std::exp(2) + std::exp(3)), 1e-12);
  }
  EXPECT_EQ(outputs[1].Values(), (std::vector<double>{0, 3, 2}));

  c.attrs.Set("vocab_size", int64_t{4});
  outputs = RunOp(c, MakeInputs(c));
  EXPECT_EQ(outputs[0].Get(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(outputs[1].Values(), (std::vector<double>{0, 0, 0}));
}

}  // namespace
}  // namespace trireme
