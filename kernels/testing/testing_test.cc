// The harness itself: tensors slice and place as inverses, differences are found and told, and each
// check fails where it must.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

HostTensor Counting(const std::vector<int64_t>& sizes) {
  HostTensor tensor(DType::kFloat32, sizes);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Set(i, static_cast<double>(i));
  return tensor;
}

TEST(HostTensor, SlicesPutBackGiveTheWhole) {
  const HostTensor whole = Counting({2, 3, 4});
  EXPECT_EQ(whole.Slice(1, 1, 1).Values(), std::vector<double>({4, 5, 6, 7, 16, 17, 18, 19}));
  for (const int dim : {0, 1, 2}) {
    HostTensor again(DType::kFloat32, whole.sizes());
    for (int64_t i = 0; i < whole.sizes()[dim]; ++i) again.Place(dim, i, whole.Slice(dim, i, 1));
    EXPECT_EQ(again.Values(), whole.Values()) << dim;
  }
}

TEST(Difference, NamesTheFirstIndexAndBothValues) {
  const HostTensor expected = Counting({4});
  HostTensor actual = expected;
  EXPECT_EQ(Difference(expected, actual, 0), "");
  actual.Set(2, 2.5);
  actual.Set(3, 9);
  EXPECT_EQ(Difference(expected, actual, 1e-3), "index 2 of 4: expected 2, got 2.5");
  actual.Set(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(Difference(expected, actual, 1e30), "");
}

TEST(Difference, InfinitiesMustBeEqual) {
  HostTensor expected = Counting({2});
  expected.Set(1, -std::numeric_limits<double>::infinity());
  HostTensor actual = expected;
  EXPECT_EQ(Difference(expected, actual, 0), "");
  actual.Set(1, -1e30);
  EXPECT_NE(Difference(expected, actual, 1), "");
}

TEST(TestRandom, NormalHasMeanZeroAndDeviationOne) {
  TestRandom random(7);
  double sum = 0, squares = 0;
  for (int i = 0; i < 10000; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.05);
}

// At its corner relu has no derivative: the central difference is 1/2, the op says 0.
TEST(CheckGradient, FailsWhereTheGradientIsNotTheSlope) {
  static const OpCase c{.op = "map",
                        .attrs = {{"kind", "relu"}},
                        .inputs = {Given({{"embed", 1}}, DType::kFloat32, {0})}};
  EXPECT_NONFATAL_FAILURE(CheckGradient(c), "central difference");
}

// A check of nothing must not pass: 5 splits neither in 2 nor in 3.
TEST(CheckEverySharding, FailsWhenNothingCanBeSplit) {
  static const OpCase c{.op = "scale", .attrs = {{"factor", 2.0}}, .inputs = {Normal({{"n", 5}})}};
  EXPECT_NONFATAL_FAILURE(CheckEverySharding(c), "no dim of the case can be split");
}

TEST(ExpectInferError, FailsWhenInferAccepts) {
  static const OpCase c{.op = "scale", .attrs = {{"factor", 2.0}}, .inputs = {Normal({{"n", 5}})}};
  EXPECT_NONFATAL_FAILURE(ExpectInferError(c, "anything"), "Infer accepts");
}

}  // namespace
}  // namespace trireme
