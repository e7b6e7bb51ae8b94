// Gradient of combine in every split, also of embed; empty slots and dropped assignments get 0.
// Values are checked in combine/test.cc.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// Three tokens, two choices, six experts with one slot; slot 1 is empty, assignment 3 dropped.
OpCase GradCase(int64_t embed) {
  return {.op = "combine_grad",
          .inputs = {Normal({{"batch", 3}, {"embed", embed}}),
                     Normal({{"expert", 6}, {"slot", 1}, {"embed", embed}}),
                     Given({{"expert", 6}, {"slot", 1}}, DType::kInt32, {1, -1, 5, 0, 2, 4}),
                     Positive({{"batch", 3}, {"choice", 2}})}};
}

TEST(CombineGrad, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  CheckCpuMatchesReference(GradCase(7), 1e-5);
  CheckCpuMatchesReference(GradCase(1), 1e-5);
  OpCase split = GradCase(6);
  split.skip_dims = {"batch"};  // an index counts its shard's tokens: the layouts test splits batch
  CheckEverySharding(split);
}

TEST(CombineGrad, EmptySlotsAndDroppedAssignmentsGetZero) {
  const OpCase c = GradCase(2);
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  for (int e : {0, 1}) EXPECT_EQ(outputs[0].Get(1 * 2 + e), 0);
  EXPECT_NE(outputs[0].Get(0), 0);
  EXPECT_EQ(outputs[1].Get(3), 0);
  EXPECT_NE(outputs[1].Get(2), 0);
}

}  // namespace
}  // namespace trireme
