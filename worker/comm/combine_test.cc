// Sums and maxima by element, in place too, with NaN and overflow.
#include "worker/comm/combine.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace trireme {
namespace {

TEST(Combine, SumsInPlaceAtEveryLength) {
  for (int64_t count : {0, 1, 3, 8, 1001}) {
    std::vector<float> a(count, 1.5f), b(count, 2.0f);
    Combine(DType::kFloat32, ReduceKind::kSum, a.data(), b.data(), a.data(), count);
    EXPECT_EQ(a, std::vector<float>(count, 3.5f)) << count;
  }
}

TEST(Combine, MaximumKeepsNaNFromEitherSide) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = {1, nan, 3, -2}, b = {2, 5, nan, -3};
  std::vector<double> out(4);
  Combine(DType::kFloat64, ReduceKind::kMax, a.data(), b.data(), out.data(), 4);
  EXPECT_EQ(out[0], 2);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(out[3], -2);
}

TEST(Combine, IntegerSumsWrapAround) {
  const int32_t a = std::numeric_limits<int32_t>::max(), b = 1;
  int32_t out = 0;
  Combine(DType::kInt32, ReduceKind::kSum, &a, &b, &out, 1);
  EXPECT_EQ(out, std::numeric_limits<int32_t>::min());
}

TEST(Combine, OnlyThreeTypesCanBeReduced) {
  EXPECT_TRUE(CheckReducible(DType::kInt32).ok());
  EXPECT_EQ(CheckReducible(DType::kFloat16).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace trireme
