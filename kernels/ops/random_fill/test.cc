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
  CheckEverySharding(FillCase("truncated_normal", {60, 24}, {50, 23}), 0);
}

TEST(RandomFill, CpuMatchesReference) {
  CheckCpuMatchesReference(FillCase("normal", {7, 13}, {7, 13}), 1e-6);
  CheckCpuMatchesReference(FillCase("normal", {8, 15}, {7, 13}), 1e-6);
  CheckCpuMatchesReference(FillCase("truncated_normal", {80, 15}, {79, 13}), 0);
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

// Cut at 3: variance 1 - 6 phi(3) / (2 Phi(3) - 1) = 0.973337, none outside, and what was inside is
// as it was. 270 of 100,000 normals lie outside: the test sees redrawn ones.
TEST(RandomFill, TruncatedNormalsAreDrawnAgain) {
  const int64_t n = 100000;
  const std::vector<double> plain = Filled(FillCase("normal", {n}, {n})).Values();
  const std::vector<double> cut = Filled(FillCase("truncated_normal", {n}, {n})).Values();
  double sum = 0, squares = 0;
  int64_t redrawn = 0;
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_LE(std::abs(cut[i]), 1.5);
    if (std::abs(plain[i]) <= 1.5) {
      EXPECT_EQ(cut[i], plain[i]) << i;
    } else {
      ++redrawn;
      EXPECT_NE(cut[i], 0) << i;
    }
    sum += cut[i] / 0.5;
    squares += cut[i] * cut[i] / 0.25;
  }
  EXPECT_NEAR(static_cast<double>(redrawn) / n, 0.0027, 5 * std::sqrt(0.0027 / n));
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(static_cast<double>(n)));
  EXPECT_NEAR(squares / n, 0.973337, 5 * std::sqrt(2.0 / n));
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
