// Random tensors do not depend on the split, have the right moments, and are 0 in padding.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

using Ints = std::vector<int64_t>;

OpCase FillCase(const std::string& kind, const Ints& sizes, const Ints& global_sizes) {
  return {.op = "random_fill",
          .attrs = {{"kind", kind},
                    {"std", 0.5},
                    {"seed", int64_t{1234}},
                    {"stream", int64_t{-77}},
                    {"sizes", sizes},
                    {"global_sizes", global_sizes}}};
}

HostTensor Filled(const OpCase& c) { return RunOp(c, {})[0]; }

TEST(RandomFill, EverySplitGivesTheSame) {
  CheckEverySharding(FillCase("normal", {6, 4, 2}, {6, 4, 2}));
  CheckEverySharding(FillCase("normal", {6, 12}, {5, 9}));
}

TEST(RandomFill, CpuMatchesReference) {
  CheckCpuMatchesReference(FillCase("normal", {7, 13}, {7, 13}), 1e-6);
  CheckCpuMatchesReference(FillCase("normal", {8, 15}, {7, 13}), 1e-6);
  CheckCpuMatchesReference(FillCase("ones", {3}, {2}), 0);
  CheckCpuMatchesReference(FillCase("zeros", {3}, {3}), 0);
  CheckCpuMatchesReference(FillCase("normal", {}, {}), 1e-6);
}

TEST(RandomFill, CpuMatchesReferenceOnALaterShard) {
  OpCase c = FillCase("normal", {3, 5}, {7, 13});
  c.attrs.Set("start_0", int64_t{3});
  c.attrs.Set("start_1", int64_t{10});  // columns 10 to 14 of 13
  CheckCpuMatchesReference(c, 1e-6);
}

TEST(RandomFill, PaddingIsZeroAndDoesNotMoveTheRest) {
  const HostTensor plain = Filled(FillCase("normal", {3, 4}, {3, 4}));
  HostTensor padded = Filled(FillCase("normal", {4, 6}, {3, 4}));
  EXPECT_EQ(Difference(plain, padded.Slice(0, 0, 3).Slice(1, 0, 4), 0), "");
  for (const double value : padded.Slice(0, 3, 1).Values()) EXPECT_EQ(value, 0);
  for (const double value : padded.Slice(1, 4, 2).Values()) EXPECT_EQ(value, 0);
  EXPECT_EQ(Filled(FillCase("ones", {3}, {2})).Values(), (std::vector<double>{1, 1, 0}));
}

TEST(RandomFill, NormalsHaveTheirMoments) {
  const int64_t n = 100000;
  double sum = 0, squares = 0, cubes = 0, fourths = 0;
  for (const double value : Filled(FillCase("normal", {n}, {n})).Values()) {
    const double z = value / 0.5;
    sum += z;
    squares += z * z;
    cubes += z * z * z;
    fourths += z * z * z * z;
  }
  // Five standard errors each: of z, z^2 (variance 2), z^3 (15), z^4 (96).
  const double error = 5 / std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(sum / n, 0, error);
  EXPECT_NEAR(squares / n, 1, error * std::sqrt(2.0));
  EXPECT_NEAR(cubes / n, 0, error * std::sqrt(15.0));
  EXPECT_NEAR(fourths / n, 3, error * std::sqrt(96.0));
}

// Correlation of two tensors that should have nothing to do with each other.
double Correlation(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) sum += a.Get(i) * b.Get(i) / 0.25;
  return sum / static_cast<double>(a.count());
}

TEST(RandomFill, SeedsAndStreamsAreIndependent) {
  OpCase c = FillCase("normal", {10000}, {10000});
  const HostTensor first = Filled(c);
  c.attrs.Set("stream", int64_t{-76});
  EXPECT_LT(std::abs(Correlation(first, Filled(c))), 0.05);
  c = FillCase("normal", {10000}, {10000});
  c.attrs.Set("seed", int64_t{1235});
  EXPECT_LT(std::abs(Correlation(first, Filled(c))), 0.05);
}

TEST(RandomFill, RefusesUnknownKinds) {
  ExpectInferError(FillCase("uniform", {2}, {2}), "unknown kind uniform");
  ExpectInferError(FillCase("ones", {2}, {2, 2}), "one entry a dim");
}

}  // namespace
}  // namespace trireme
