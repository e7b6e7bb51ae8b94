// dequantize_blocks: values by hand, sums of payloads and their order, CPU = reference, errors.
// quantize_blocks/test.cc has the round trips.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// One payload of bf16 after another, one a row of `values`.
OpCase BFloat16Case(const std::vector<std::vector<float>>& values) {
  std::vector<double> bytes;
  for (const std::vector<float>& payload : values) {
    for (const float value : payload) {
      const uint32_t upper = std::bit_cast<uint32_t>(value) >> 16;
      bytes.push_back(static_cast<int8_t>(upper & 0xff));
      bytes.push_back(static_cast<int8_t>(upper >> 8));
    }
  }
  return {
      .op = "dequantize_blocks",
      .attrs = {{"format", std::string("bf16")},
                {"count", static_cast<int64_t>(values[0].size())},
                {"sum_parts", static_cast<int64_t>(values.size())}},
      .inputs = {Given({{"payload", static_cast<int64_t>(bytes.size())}}, DType::kInt8, bytes)}};
}

// `payloads` payloads of `count` random elements.
OpCase Int8Case(int64_t count, int64_t payloads, int64_t parts, int64_t block) {
  const OpCase pack{.op = "quantize_blocks",
                    .attrs = {{"format", std::string("int8")}, {"block", block}, {"parts", parts}},
                    .inputs = {Normal({{"embed", count}}), Normal({{"embed", count}})}};
  std::vector<double> bytes;
  for (int64_t i = 0; i < payloads; ++i) {
    OpCase one = pack;
    one.seed = static_cast<uint64_t>(i + 1);
    const std::vector<double> payload = RunOp(one, MakeInputs(one))[0].Values();
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  }
  OpCase c{
      .op = "dequantize_blocks",
      .attrs = pack.attrs,
      .inputs = {Given({{"payload", static_cast<int64_t>(bytes.size())}}, DType::kInt8, bytes)}};
  c.attrs.Set("count", count);
  c.attrs.Set("sum_parts", payloads);
  return c;
}

TEST(DequantizeBlocks, AddsPayloads) {
  const OpCase c = BFloat16Case({{1, 2, -3}, {10, 20, 30}, {0.5, 0, 0}});
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = cpu})[0].Values(),
              std::vector<double>({11.5, 22, 27}));
  }
}

// In floats (big - big) + small = small and (small + big) - big = 0: the order is own + 1, .., own.
TEST(DequantizeBlocks, AddsInRingOrderItsOwnLast) {
  OpCase c = BFloat16Case({{1}, {0x1p60f}, {-0x1p60f}});
  EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = true})[0].Get(0), 1);
  c.attrs.Set("own", int64_t{1});  // 2, 0, 1
  EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = true})[0].Get(0), 0);
  c.attrs.Set("own", int64_t{2});  // 0, 1, 2
  EXPECT_EQ(RunOp(c, MakeInputs(c), {.cpu = true})[0].Get(0), 0);
}

TEST(DequantizeBlocks, OneNonFinitePayloadIsSeen) {
  const OpCase c = BFloat16Case({{1, 2}, {std::nanf(""), 1}});
  for (const bool cpu : {false, true}) {
    const HostTensor sum = RunOp(c, MakeInputs(c), {.cpu = cpu})[0];
    EXPECT_TRUE(std::isnan(sum.Get(0)));
    EXPECT_EQ(sum.Get(1), 3);
  }
}

TEST(DequantizeBlocks, CpuMatchesReference) {
  CheckCpuMatchesReference(Int8Case(1, 1, 1, 4), 1e-6);
  CheckCpuMatchesReference(Int8Case(5, 3, 4, 4), 1e-5);
  CheckCpuMatchesReference(Int8Case(1000, 4, 3, 256), 1e-5);
  CheckCpuMatchesReference(Int8Case(40001, 2, 1, 256), 1e-5);
  CheckCpuMatchesReference(BFloat16Case({{1, 2, -3}, {10, 20, 30}}), 1e-6);
}

TEST(DequantizeBlocks, RefusesPayloadsOfOtherSizes) {
  OpCase c = Int8Case(5, 2, 1, 4);
  c.attrs.Set("count", int64_t{9});
  ExpectInferError(c, "must hold 48 bytes for 9 elements");
  c.attrs.Set("count", int64_t{5});
  c.attrs.Set("own", int64_t{2});
  ExpectInferError(c, "sum_parts 2 must be at least 1 and own 2 below it");
}

}  // namespace
}  // namespace trireme
