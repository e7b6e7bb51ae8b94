// Every element is computed once, with and without 16-byte accesses.
#include "kernels/device/cuda/elementwise.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme {
namespace {

// y = {a - 2 b, a b}
struct Both {
  void operator()(const float* x, float* y) const {
    y[0] = x[0] - 2 * x[1];
    y[1] = x[0] * x[1];
  }
};

class CudaElementwiseTest : public testing::TestWithParam<int> {
 protected:
  // The operands start `shift` elements behind 16-byte boundaries.
  void Check(int64_t shift, int64_t expected_quads) {
    const int64_t count = GetParam();
    alignas(16) float a[2100], b[2100], y[2100], z[2100];
    for (int i = 0; i < 2100; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(i % 7);
      y[i] = z[i] = -1;
    }
    const auto arrays = MakeArrays({a + shift, b}, {y, z + shift}, count);
    EXPECT_EQ(arrays.quads, expected_quads);
    EXPECT_EQ(arrays.units(), expected_quads + count - 4 * expected_quads);
    Stream stream;
    const Attrs attrs;
    Elementwise({.stream = stream, .attrs = attrs, .in = {}, .out = {}}, Both{}, {a + shift, b},
                {y, z + shift}, count);
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(y[i], a[i + shift] - 2 * b[i]) << i;
      ASSERT_EQ(z[i + shift], a[i + shift] * b[i]) << i;
    }
    EXPECT_EQ(y[count], -1);
    EXPECT_EQ(z[count + shift], -1);
  }
};

TEST_P(CudaElementwiseTest, Aligned) { Check(0, GetParam() / 4); }
TEST_P(CudaElementwiseTest, NotAligned) { Check(1, 0); }

INSTANTIATE_TEST_SUITE_P(Counts, CudaElementwiseTest,
                         testing::Values(0, 1, 3, 4, 5, 7, 1027, 2048));

}  // namespace
}  // namespace trireme
