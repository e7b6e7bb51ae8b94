// cast: both directions, gradient, shardings, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(const std::string& dtype, DType from, int64_t n) {
  return {.op = "cast",
          .attrs = {{"dtype", dtype}},
          .inputs = {Normal({{"batch", n}, {"embed", 6}}, from)}};
}

TEST(Cast, RoundsToFloat32) {
  OpCase c = Case("float32", DType::kFloat64, 1);
  c.inputs = {Given({{"n", 1}}, DType::kFloat64, {0.1})};
  const HostTensor y = RunOp(c, MakeInputs(c))[0];
  EXPECT_EQ(y.dtype(), DType::kFloat32);
  EXPECT_EQ(y.Get(0), static_cast<double>(0.1f));
}

TEST(Cast, GradientComesBackInTheTypeOfTheInput) {
  CheckGradient(Case("float64", DType::kFloat64, 2));
  OpCase c = Case("float64", DType::kFloat32, 2);
  c.float64 = false;
  CheckGradient(c, 1e-3);
}

TEST(Cast, EverySharding) { CheckEverySharding(Case("float32", DType::kFloat32, 2), 1e-6); }

TEST(Cast, CpuMatchesReference) {
  for (const DType from : {DType::kFloat32, DType::kFloat64}) {
    for (const int64_t n : {1, 3, 5, 70}) {
      CheckCpuMatchesReference(Case("float32", from, n), 0);
      CheckCpuMatchesReference(Case("float64", from, n), 0);
    }
  }
}

TEST(Cast, RefusesTypesThatItCannotWrite) {
  ExpectInferError(Case("int32", DType::kFloat32, 2), "can be float32 or float64");
  ExpectInferError(Case("float7", DType::kFloat32, 2), "float7");
}

}  // namespace
}  // namespace trireme
