// Dispatch: gradient, expert splits, capacity drops in token order, experts nobody chose.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase DispatchCase(int64_t batch, int64_t embed, int64_t experts, int64_t capacity) {
  return {.op = "dispatch",
          .attrs = {{"num_experts", experts}, {"capacity", capacity}},
          .inputs = {Normal({{"batch", batch}, {"position", 3}, {"embed", embed}}),
                     Ids({{"batch", batch}, {"position", 3}, {"choice", 2}}, experts)}};
}

// Four tokens of one number each, one choice.
OpCase FourTokens(const std::vector<double>& ids, int64_t experts, int64_t capacity) {
  OpCase c = DispatchCase(1, 1, experts, capacity);
  c.inputs = {Given({{"batch", 1}, {"position", 4}, {"embed", 1}}, DType::kFloat32, {1, 2, 3, 4}),
              Given({{"batch", 1}, {"position", 4}, {"choice", 1}}, DType::kInt32, ids)};
  return c;
}

TEST(Dispatch, GradientIsRight) {
  CheckGradient(DispatchCase(2, 3, 4, 12));
  CheckGradient(DispatchCase(2, 3, 4, 2));  // drops
}

TEST(Dispatch, CpuMatchesReferenceAndEveryExpertSplitGivesTheSame) {
  CheckCpuMatchesReference(DispatchCase(5, 7, 3, 4), 0);
  CheckCpuMatchesReference(DispatchCase(1, 1, 1, 1), 0);
  OpCase split = DispatchCase(3, 5, 6, 2);
  split.skip_dims = {"batch",
                     "slot"};  // an index counts its shard's tokens: the layouts test splits batch
  CheckEverySharding(split);
}

TEST(Dispatch, CpuMatchesReferenceOnLaterExperts) {
  OpCase c = DispatchCase(5, 7, 3, 4);
  c.attrs.Set("expert_start", int64_t{1});
  CheckCpuMatchesReference(c, 0);
}

TEST(Dispatch, DropsLaterTokensWhenAnExpertIsFull) {
  const OpCase c = FourTokens({1, 0, 1, 1}, 2, 2);
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c), {.cpu = cpu});
    EXPECT_EQ(outputs[0].Values(), (std::vector<double>{2, 0, 1, 3}));
    EXPECT_EQ(outputs[1].Values(), (std::vector<double>{1, -1, 0, 2}));
  }
}

TEST(Dispatch, ExpertsNobodyChoseGetEmptyRows) {
  const OpCase c = FourTokens({2, 2, 2, 2}, 3, 1);
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  EXPECT_EQ(outputs[0].Values(), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(outputs[1].Values(), (std::vector<double>{-1, -1, 0}));
}

TEST(Dispatch, RefusesNoCapacity) {
  ExpectInferError(DispatchCase(1, 1, 1, 0), "capacity=0 must be at least 1");
}

}  // namespace
}  // namespace trireme
