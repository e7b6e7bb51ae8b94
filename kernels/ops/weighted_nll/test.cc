// Weighted negative log-likelihood: splits, a case by hand, tokens that do not count.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase NllCase(int64_t batch, int64_t position) {
  const std::vector<Dim> dims = {{"batch", batch}, {"position", position}};
  return {.op = "weighted_nll", .inputs = {Normal(dims), Normal(dims), Positive(dims)}};
}

TEST(WeightedNll, CpuMatchesReference) {
  CheckCpuMatchesReference(NllCase(3, 7), 1e-6);
  CheckCpuMatchesReference(NllCase(1, 1), 1e-6);
}

TEST(WeightedNll, EverySplitGivesTheSame) { CheckEverySharding(NllCase(6, 2)); }

TEST(WeightedNll, TokensWithoutWeightDoNotCountWhateverTheyHold) {
  OpCase c = NllCase(1, 3);
  const std::vector<Dim> dims = c.inputs[0].dims;
  c.inputs = {Given(dims, DType::kFloat32, {3, std::numeric_limits<double>::infinity(), 5}),
              Given(dims, DType::kFloat32, {1, 0, 1}), Given(dims, DType::kFloat32, {0.5, 0, 2})};
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Get(0), 9.0);
}

}  // namespace
}  // namespace trireme
