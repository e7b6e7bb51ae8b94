// Gemm against plain loops for all transposes, adding or not, with leading dimensions larger than
// the rows.
#include "kernels/device/gemm.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme {
namespace {

double At(const MatrixView& view, int64_t r, int64_t c) {
  return view.transposed ? view.data[c * view.ld + r] : view.data[r * view.ld + c];
}

std::vector<float> Numbers(int64_t count, int seed) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37 + seed) % 23 - 11);
  return values;
}

TEST(Gemm, MatchesPlainLoops) {
  const GemmShape shape = {.m = 5, .n = 7, .k = 3};
  const std::vector<float> a = Numbers(100, 1);
  const std::vector<float> b = Numbers(100, 2);
  for (int flags = 0; flags < 8; ++flags) {
    const MatrixView va = {a.data(), 9, (flags & 1) != 0};
    const MatrixView vb = {b.data(), 8, (flags & 2) != 0};
    const bool add = (flags & 4) != 0;
    std::vector<float> c = Numbers(50, 3);
    const std::vector<float> before = c;
    Gemm(2, shape, va, vb, c.data(), 10, add);
    for (int64_t r = 0; r < shape.m; ++r) {
      for (int64_t n = 0; n < shape.n; ++n) {
        double sum = add ? before[r * 10 + n] : 0;
        for (int64_t k = 0; k < shape.k; ++k) sum += At(va, r, k) * At(vb, k, n);
        EXPECT_EQ(c[r * 10 + n], sum) << "flags " << flags << " at " << r << "," << n;
      }
      for (int64_t n = shape.n; n < 10; ++n) EXPECT_EQ(c[r * 10 + n], before[r * 10 + n]);
    }
  }
}

TEST(Gemm, EmptySumIsZeroOrKeeps) {
  std::vector<float> c = {1, 2};
  Gemm(1, {.m = 1, .n = 2, .k = 0}, {c.data(), 1}, {c.data(), 2}, c.data(), 2, true);
  EXPECT_EQ(c, (std::vector<float>{1, 2}));
  Gemm(1, {.m = 1, .n = 2, .k = 0}, {c.data(), 1}, {c.data(), 2}, c.data(), 2, false);
  EXPECT_EQ(c, (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace trireme
