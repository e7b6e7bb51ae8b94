// SmallGemm against plain loops: shapes that fill no tile, panel or block evenly, and some beyond a
// block; every row is the same however rows are cut.
#include "kernels/device/small_gemm.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme {
namespace {

double At(const MatrixView& view, int64_t r, int64_t c) {
  return view.transposed ? view.data[c * view.ld + r] : view.data[r * view.ld + c];
}

// Small whole numbers: sums are exact.
std::vector<float> Numbers(int64_t count, int seed) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37 + seed) % 23 - 11);
  return values;
}

// Operands of a product, with leading dimensions larger than their rows.
struct Operands {
  GemmShape shape;
  MatrixView a, b;
  int64_t ldc = 0;
  std::vector<float> a_data, b_data, c;
};

Operands MakeOperands(const GemmShape& shape, bool a_transposed, bool b_transposed) {
  Operands x = {.shape = shape, .ldc = shape.n + 3};
  const int64_t lda = (a_transposed ? shape.m : shape.k) + 1;
  const int64_t ldb = (b_transposed ? shape.k : shape.n) + 2;
  x.a_data = Numbers(lda * (a_transposed ? shape.k : shape.m), 1);
  x.b_data = Numbers(ldb * (b_transposed ? shape.n : shape.k), 2);
  x.a = {x.a_data.data(), lda, a_transposed};
  x.b = {x.b_data.data(), ldb, b_transposed};
  x.c = Numbers(shape.m * x.ldc, 3);
  return x;
}

void CheckProduct(const GemmShape& shape, bool a_transposed, bool b_transposed, bool add) {
  Operands x = MakeOperands(shape, a_transposed, b_transposed);
  const std::vector<float> before = x.c;
  SmallGemm(shape, x.a, x.b, x.c.data(), x.ldc, add);
  for (int64_t r = 0; r < shape.m; ++r) {
    for (int64_t n = 0; n < x.ldc; ++n) {
      double expected = before[r * x.ldc + n];
      if (n < shape.n) {
        if (!add) expected = 0;
        for (int64_t k = 0; k < shape.k; ++k) expected += At(x.a, r, k) * At(x.b, k, n);
      }
      ASSERT_EQ(x.c[r * x.ldc + n], expected)
          << "m=" << shape.m << " n=" << shape.n << " k=" << shape.k << " transposed "
          << a_transposed << b_transposed << " add " << add << " at " << r << "," << n;
    }
  }
}

TEST(SmallGemm, MatchesPlainLoops) {
  const std::vector<GemmShape> shapes = {
      {.m = 1, .n = 1, .k = 1},     {.m = 5, .n = 7, .k = 3},    {.m = 6, .n = 16, .k = 8},
      {.m = 13, .n = 40, .k = 65},  {.m = 64, .n = 33, .k = 70}, {.m = 3, .n = 530, .k = 9},
      {.m = 200, .n = 17, .k = 19}, {.m = 8, .n = 24, .k = 300}, {.m = 100, .n = 530, .k = 140},
      {.m = 7, .n = 9, .k = 520}};
  for (const GemmShape& shape : shapes) {
    for (const bool add : {false, true}) {
      CheckProduct(shape, false, false, add);
      CheckProduct(shape, true, false, add);
      CheckProduct(shape, false, true, add);
    }
  }
}

// Numbers whose sums are rounded, so that another order of adding would show.
TEST(SmallGemm, RowsMayBeCutAnywhere) {
  for (const bool b_transposed : {false, true}) {
    Operands x = MakeOperands({.m = 23, .n = 37, .k = 333}, false, b_transposed);
    for (float& value : x.a_data) value = value * 0.37f + 0.011f;
    for (float& value : x.b_data) value = value * 0.73f - 0.013f;
    std::vector<float> whole = x.c, cut = x.c;
    SmallGemm(x.shape, x.a, x.b, whole.data(), x.ldc, true);
    for (const auto& [begin, end] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 7}, {7, 8}, {8, 23}}) {
      const MatrixView rows = {x.a.data + begin * x.a.ld, x.a.ld, false};
      SmallGemm({.m = end - begin, .n = 37, .k = 333}, rows, x.b, cut.data() + begin * x.ldc, x.ldc,
                true);
    }
    EXPECT_EQ(whole, cut) << "transposed " << b_transposed;
  }
}

// What is fetched for the next product changes nothing, whatever is there.
TEST(SmallGemm, UpcomingIsOnlyFetched) {
  for (const bool b_transposed : {false, true}) {
    Operands x = MakeOperands({.m = 70, .n = 40, .k = 90}, false, b_transposed);
    std::vector<float> plain = x.c, hinted = x.c;
    SmallGemm(x.shape, x.a, x.b, plain.data(), x.ldc, false);
    SmallGemm(x.shape, x.a, x.b, hinted.data(), x.ldc, false, x.b.data + 1);
    EXPECT_EQ(plain, hinted) << "transposed " << b_transposed;
  }
}

TEST(SmallGemm, EmptySumIsZeroOrKeeps) {
  std::vector<float> c = {1, 2};
  SmallGemm({.m = 1, .n = 2, .k = 0}, {c.data(), 1}, {c.data(), 2}, c.data(), 2, true);
  EXPECT_EQ(c, (std::vector<float>{1, 2}));
  SmallGemm({.m = 1, .n = 2, .k = 0}, {c.data(), 1}, {c.data(), 2}, c.data(), 2, false);
  EXPECT_EQ(c, (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace trireme
