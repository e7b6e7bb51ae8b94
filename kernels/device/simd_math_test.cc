// FastExp and FastSigmoid against double precision, over the whole range and at its ends, on both
// instruction sets.
#include "kernels/device/simd_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace trireme {
namespace {

TRIREME_SIMD void ExpAll(const float* x, float* y, int n) {
#pragma omp simd
  for (int i = 0; i < n; ++i) y[i] = FastExp(x[i]);
}

std::vector<float> Inputs() {
  std::vector<float> x;
  for (double v = -87.0; v < 88.0; v += 0.00137) x.push_back(static_cast<float>(v));
  return x;
}

void ExpectClose(const std::vector<float>& x, const std::vector<float>& y) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    ASSERT_NEAR(y[i] / exact, 1.0, 2e-7) << "x=" << x[i];
  }
}

TEST(FastExp, IsWithinTwoUnitsOfDouble) {
  const std::vector<float> x = Inputs();
  std::vector<float> y(x.size());
  RunSimd<ExpAll>(x.data(), y.data(), static_cast<int>(x.size()));
  ExpectClose(x, y);
  ExpAll(x.data(), y.data(), static_cast<int>(x.size()));
  ExpectClose(x, y);
}

TEST(FastExp, HandlesTheEnds) {
  EXPECT_EQ(FastExp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(FastExp(-1000.0f), 0.0f);
  EXPECT_EQ(FastExp(0.0f), 1.0f);
  EXPECT_GT(FastExp(1000.0f), 1e38f);
  EXPECT_TRUE(std::isnan(FastExp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(FastSigmoid, MatchesItsDefinition) {
  for (float x : {-200.0f, -20.0f, -1.0f, 0.0f, 0.5f, 20.0f, 200.0f}) {
    EXPECT_NEAR(FastSigmoid(x), 1.0 / (1.0 + std::exp(-static_cast<double>(x))), 2e-7) << x;
  }
}

TEST(IsFiniteBits, TellsInfinitiesAndNan) {
  EXPECT_TRUE(IsFiniteBits(0.0f));
  EXPECT_TRUE(IsFiniteBits(-3.4e38f));
  EXPECT_FALSE(IsFiniteBits(std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(IsFiniteBits(std::numeric_limits<float>::quiet_NaN()));
}

}  // namespace
}  // namespace trireme
