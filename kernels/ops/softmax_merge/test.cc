// softmax_merge: known values, sides that saw no key, attention over keys in two parts, outputs in
// place, shardings, odd sizes, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/ops/attention/test_case.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

OpCase Case(int64_t batch, int64_t positions, int64_t heads, int64_t head_dim) {
  const std::vector<Dim> rows{{"batch", batch}, {"position", positions}, {"heads", heads}};
  std::vector<Dim> o = rows;
  o.push_back({"head_dim", head_dim});
  return {.op = "softmax_merge", .inputs = {Normal(o), Normal(rows), Normal(o), Normal(rows)}};
}

// One row a case: o1, lse1, o2, lse2.
std::vector<HostTensor> Merge(const std::vector<double>& o1, const std::vector<double>& lse1,
                              const std::vector<double>& o2, const std::vector<double>& lse2,
                              bool cpu) {
  const int64_t n = static_cast<int64_t>(o1.size());
  OpCase c = Case(n, 1, 1, 1);
  c.inputs = {
      Given(c.inputs[0].dims, DType::kFloat32, o1), Given(c.inputs[1].dims, DType::kFloat32, lse1),
      Given(c.inputs[2].dims, DType::kFloat32, o2), Given(c.inputs[3].dims, DType::kFloat32, lse2)};
  return RunOp(c, MakeInputs(c), {.cpu = cpu});
}

// Equal sides give the mean and one more log 2; a side of three times the weight counts so.
TEST(SoftmaxMerge, WeighsBySumOfExponentials) {
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> out =
        Merge({10, 10}, {500, std::log(3.0)}, {20, 20}, {500, 0}, cpu);
    EXPECT_NEAR(out[0].Get(0), 15, 1e-5);
    EXPECT_NEAR(out[1].Get(0), 500 + std::log(2.0), 1e-4);
    EXPECT_NEAR(out[0].Get(1), 12.5, 1e-5);
    EXPECT_NEAR(out[1].Get(1), std::log(4.0), 1e-6);
  }
}

// What a side without keys holds does not matter, not even NaN.
TEST(SoftmaxMerge, ASideWithoutKeysCountsNothing) {
  const double nan = std::nan("");
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> out =
        Merge({nan, 7, nan}, {kNothing, -3, kNothing}, {5, nan, nan}, {2, kNothing, kNothing}, cpu);
    EXPECT_EQ(out[0].Values(), std::vector<double>({5, 7, 0})) << cpu;
    EXPECT_EQ(out[1].Values(), std::vector<double>({2, -3, kNothing})) << cpu;
  }
}

TEST(SoftmaxMerge, NonFiniteSidesAreNoticed) {
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> out =
        Merge({1, 1}, {std::nan(""), 0}, {1, 1}, {0, std::nan("")}, cpu);
    for (const HostTensor& tensor : out) {
      for (const double value : tensor.Values()) EXPECT_TRUE(std::isnan(value)) << cpu;
    }
  }
}

// Attention over 9 keys = merge of 4 and 5 of them; with the causal mask the first queries see no
// key of the second part.
TEST(SoftmaxMerge, JoinsAttentionOverParts) {
  const OpCase whole = AttentionCase({2, 9, 9, 4, 2, 8});
  for (const bool cpu : {false, true}) {
    const RunOptions options{.cpu = cpu};
    const std::vector<HostTensor> expected = RunOp(whole, MakeInputs(whole), options);
    const OpCase first = KeysOf(whole, 0, 4);
    const OpCase second = KeysOf(whole, 4, 5);
    std::vector<HostTensor> parts = RunOp(first, MakeInputs(first), options);
    for (HostTensor& part : RunOp(second, MakeInputs(second), options)) parts.push_back(part);
    const std::vector<HostTensor> merged = RunOp(Case(2, 9, 4, 8), parts, options);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Difference(expected[i], merged[i], 1e-5), "") << i;
  }
}

TEST(SoftmaxMerge, OutputsMayBeEitherSide) {
  OpCase c = Case(3, 5, 2, 7);
  CheckCpuMatchesReference(c, 1e-5);
  const std::vector<HostTensor> expected = RunOp(c, MakeInputs(c));
  for (const int side : {0, 2}) {
    c.in_place = {{0, side}, {1, side + 1}};
    for (const bool cpu : {false, true}) {
      const std::vector<HostTensor> out = RunOp(c, MakeInputs(c), {.cpu = cpu, .num_threads = 2});
      for (int i = 0; i < 2; ++i) EXPECT_EQ(Difference(expected[i], out[i], 1e-5), "") << side;
    }
  }
}

TEST(SoftmaxMerge, EverySharding) { CheckEverySharding(Case(2, 6, 6, 2)); }

TEST(SoftmaxMerge, CpuMatchesReference) {
  CheckCpuMatchesReference(Case(1, 1, 1, 1), 1e-5);
  CheckCpuMatchesReference(Case(2, 3, 5, 7), 1e-5);
  CheckCpuMatchesReference(Case(2, 65, 4, 64), 1e-5);
}

TEST(SoftmaxMerge, RefusesOtherShapes) {
  OpCase c = Case(2, 3, 4, 5);
  c.inputs[3] = c.inputs[2];
  ExpectInferError(c, "must have dims [batch 2, position 3, heads 4]");
  c.inputs.pop_back();
  ExpectInferError(c, "has 3 operands, takes 4");
}

}  // namespace
}  // namespace trireme
