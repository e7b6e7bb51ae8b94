// Gradient of dispatch in every split; a token with two rows gets their sum, a dropped one 0.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// Three tokens, two choices, six experts with one slot; assignment 3 (token 1) is dropped.
OpCase GradCase(int64_t embed) {
  return {.op = "dispatch_grad",
          .inputs = {Normal({{"expert", 6}, {"slot", 1}, {"embed", embed}}),
                     Given({{"expert", 6}, {"slot", 1}}, DType::kInt32, {1, -1, 5, 0, 2, 4}),
                     Ids({{"batch", 3}, {"choice", 2}}, 6)}};
}

TEST(DispatchGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  CheckCpuMatchesReference(GradCase(7), 1e-6);
  CheckCpuMatchesReference(GradCase(1), 1e-6);
  OpCase split = GradCase(6);
  split.skip_dims = {"batch"};  // an index counts its shard's tokens: the layouts test splits batch
  CheckEverySharding(split);
}

TEST(DispatchGrad, SumsTheRowsOfATokenAndSkipsTheDropped) {
  OpCase c = GradCase(1);
  c.inputs[0] =
      Given({{"expert", 6}, {"slot", 1}, {"embed", 1}}, DType::kFloat32, {1, 2, 4, 8, 16, 32});
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), (std::vector<double>{9, 16, 36}));
  c.inputs[1] = Given({{"expert", 6}, {"slot", 1}}, DType::kInt32, {1, -1, -1, 0, -1, -1});
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), (std::vector<double>{9, 0, 0}));
}

}  // namespace
}  // namespace trireme
