// Combine: gradient, expert splits, and identity after dispatch to one expert.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// Three tokens, two choices, six experts with one slot; assignment 3 (token 1) is dropped.
OpCase CombineCase(int64_t embed) {
  return {.op = "combine",
          .inputs = {Normal({{"expert", 6}, {"slot", 1}, {"embed", embed}}),
                     Given({{"expert", 6}, {"slot", 1}}, DType::kInt32, {1, -1, 5, 0, 2, 4}),
                     Positive({{"batch", 3}, {"choice", 2}})},
          .grad_inputs = {0, 2}};
}

TEST(Combine, GradientIsRight) { CheckGradient(CombineCase(3)); }

TEST(Combine, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  CheckCpuMatchesReference(CombineCase(7), 1e-6);
  CheckCpuMatchesReference(CombineCase(1), 1e-6);
  OpCase split = CombineCase(6);
  split.skip_dims = {"batch"};  // an index counts its shard's tokens: the layouts test splits batch
  CheckEverySharding(split);
}

TEST(Combine, OfDispatchToOneExpertIsIdentity) {
  const std::vector<Dim> x_dims = {{"batch", 2}, {"position", 5}, {"embed", 3}};
  const std::vector<Dim> choice_dims = {{"batch", 2}, {"position", 5}, {"choice", 1}};
  const OpCase dispatch = {.op = "dispatch",
                           .attrs = {{"num_experts", int64_t{1}}, {"capacity", int64_t{12}}},
                           .inputs = {Normal(x_dims), Ids(choice_dims, 1)}};
  const std::vector<HostTensor> inputs = MakeInputs(dispatch);
  const std::vector<HostTensor> dispatched = RunOp(dispatch, inputs);
  const OpCase combine = {.op = "combine",
                          .inputs = {Normal({{"expert", 1}, {"slot", 12}, {"embed", 3}}),
                                     Ids({{"expert", 1}, {"slot", 12}}, 1), Positive(choice_dims)}};
  HostTensor ones(DType::kFloat32, {2, 5, 1});
  ones.Fill(1);
  const HostTensor y = RunOp(combine, {dispatched[0], dispatched[1], ones})[0];
  EXPECT_EQ(Difference(inputs[0], y, 0), "");
}

TEST(Combine, RefusesAnIndexOfOtherExperts) {
  OpCase c = CombineCase(2);
  c.inputs[1] = Ids({{"expert", 5}, {"slot", 1}}, 2);
  ExpectInferError(c, "must have [expert 6]");
}

}  // namespace
}  // namespace trireme
