// Sum of squares and count of non-finite elements.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase SquaresCase(int64_t rows, int64_t columns) {
  return {.op = "sum_squares", .inputs = {Normal({{"embed", rows}, {"mlp", columns}})}};
}

TEST(SumSquares, CpuMatchesReferenceAndEverySplitGivesTheSame) {
  CheckCpuMatchesReference(SquaresCase(1, 1), 1e-6);
  CheckCpuMatchesReference(SquaresCase(101, 77), 1e-6);
  CheckEverySharding(SquaresCase(6, 4));
}

TEST(SumSquares, CountsWhatIsNotFiniteAndLeavesItOut) {
  OpCase c = SquaresCase(1, 1);
  c.inputs = {Given({{"n", 5}}, DType::kFloat32,
                    {3, std::numeric_limits<double>::infinity(), std::nan(""), -4,
                     -std::numeric_limits<double>::infinity()})};
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), (std::vector<double>{25, 3}));
  CheckCpuMatchesReference(c, 1e-6);
}

TEST(SumSquares, OnlyTheOwnerContributes) {
  OpCase c = SquaresCase(3, 3);
  c.attrs.Set("owner", int64_t{2});
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), (std::vector<double>{0, 0}));
  CheckCpuMatchesReference(c, 0);
}

}  // namespace
}  // namespace trireme
