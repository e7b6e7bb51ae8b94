// quantize_blocks with dequantize_blocks: sizes of payloads, what one payload looks like, bounds of
// the error, error feedback, padding, zeros, values that are not finite, errors of the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/ops/quantize_blocks/layout.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

struct Packing {
  std::string format = "int8";
  int64_t block = 8;
  int64_t parts = 1;
};

OpCase Case(const Packing& packing, const std::vector<double>& x,
            const std::vector<double>& error) {
  const std::vector<Dim> dims{{"embed", static_cast<int64_t>(x.size())}};
  return {.op = "quantize_blocks",
          .attrs = {{"format", packing.format}, {"block", packing.block}, {"parts", packing.parts}},
          .inputs = {Given(dims, DType::kFloat32, x), Given(dims, DType::kFloat32, error)}};
}

std::vector<double> Zeros(size_t n) { return std::vector<double>(n, 0.0); }

// Numbers of very different sizes.
std::vector<double> Numbers(int64_t n, uint64_t seed) {
  TestRandom random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(static_cast<float>(random.Normal() * std::exp(3 * random.Normal())));
  }
  return values;
}

HostTensor Unpack(const Packing& packing, const HostTensor& payload, int64_t count, bool cpu) {
  const OpCase c{.op = "dequantize_blocks",
                 .attrs = {{"format", packing.format},
                           {"block", packing.block},
                           {"parts", packing.parts},
                           {"count", count}},
                 .inputs = {Given({{"payload", payload.count()}}, DType::kInt8, payload.Values())}};
  return RunOp(c, {payload}, {.cpu = cpu, .num_threads = 2})[0];
}

// What the other side reads, and the error that stays.
struct Sent {
  HostTensor payload, error, values;
};
Sent Send(const Packing& packing, const std::vector<double>& x, const std::vector<double>& error,
          bool cpu) {
  const OpCase c = Case(packing, x, error);
  const std::vector<HostTensor> out = RunOp(c, MakeInputs(c), {.cpu = cpu, .num_threads = 2});
  return {out[0], out[1], Unpack(packing, out[0], static_cast<int64_t>(x.size()), cpu)};
}

float ScaleAt(const HostTensor& payload, int64_t byte) {
  float scale = 0;
  std::memcpy(&scale, payload.view().as<char>() + byte, sizeof(scale));
  return scale;
}

TEST(QuantizeBlocks, PayloadsAreEqualPiecesOfWholeBlocks) {
  EXPECT_EQ(PayloadBytes(BlockFormat::kInt8, 1000, 256, 1), 4 * 260);
  EXPECT_EQ(PayloadBytes(BlockFormat::kInt8, 1000, 256, 2), 2 * 2 * 260);
  EXPECT_EQ(PayloadBytes(BlockFormat::kInt8, 1000, 256, 3), 3 * 2 * 260);
  EXPECT_EQ(PayloadBytes(BlockFormat::kBFloat16, 1000, 256, 3), 3 * 334 * 2);
  EXPECT_EQ(PieceElements(1000, 3), 334);
  EXPECT_EQ(PieceBytes(BlockFormat::kInt8, 1000, 256, 3), 520);
}

// 5 elements in 2 parts of 3: the second has 2 and zeros behind them.
TEST(QuantizeBlocks, ABlockIsItsScaleAndItsValues) {
  for (const bool cpu : {false, true}) {
    const Sent sent =
        Send({.block = 4, .parts = 2}, {127, -63.6, 0.5, 0, -254}, {0, 0, 0.25, 0, 0}, cpu);
    ASSERT_EQ(sent.payload.count(), 16);
    EXPECT_EQ(ScaleAt(sent.payload, 0), 1);
    EXPECT_EQ(ScaleAt(sent.payload, 8), 2);
    const std::vector<double> bytes = sent.payload.Values();
    EXPECT_EQ(std::vector<double>(bytes.begin() + 4, bytes.begin() + 8),
              std::vector<double>({127, -64, 1, 0}));
    EXPECT_EQ(std::vector<double>(bytes.begin() + 12, bytes.end()),
              std::vector<double>({0, -127, 0, 0}));
    EXPECT_EQ(sent.values.Values(), std::vector<double>({127, -64, 1, 0, -254}));
    EXPECT_NEAR(sent.error.Get(1), 0.4, 1e-5);
    EXPECT_EQ(sent.error.Get(2), -0.25);
  }
}

// Ties go to the even neighbour; the payload is the upper half of each float.
TEST(QuantizeBlocks, BFloat16RoundsToNearestEven) {
  const double ulp = 0x1p-7;  // of 1 in bf16
  for (const bool cpu : {false, true}) {
    const Sent sent = Send({.format = "bf16", .parts = 2},
                           {1 + ulp / 2, 1 + 1.5 * ulp, 1 + 0.75 * ulp, -3, 0}, Zeros(5), cpu);
    ASSERT_EQ(sent.payload.count(), 12);
    EXPECT_EQ(sent.values.Values(), std::vector<double>({1, 1 + 2 * ulp, 1 + ulp, -3, 0}));
    EXPECT_EQ(sent.error.Get(0), ulp / 2);
    EXPECT_EQ(sent.payload.Get(10), 0);
    EXPECT_EQ(sent.payload.Get(11), 0);
  }
}

// |error'| is at most half a step, and what was sent plus error' is x + error.
TEST(QuantizeBlocks, ErrorIsBoundedAndKept) {
  for (const bool cpu : {false, true}) {
    for (const Packing& packing : std::vector<Packing>{{"int8", 8, 1}, {"int8", 256, 3}}) {
      for (const int64_t n : {1, 7, 8, 300, 5000}) {
        const std::vector<double> x = Numbers(n, 1), e = Numbers(n, 2);
        const Sent sent = Send(packing, x, e, cpu);
        const int64_t piece = PieceElements(n, packing.parts);
        const int64_t piece_bytes = PieceBytes(BlockFormat::kInt8, n, packing.block, packing.parts);
        for (int64_t i = 0; i < n; ++i) {
          const double scale =
              ScaleAt(sent.payload,
                      i / piece * piece_bytes + i % piece / packing.block * (4 + packing.block));
          ASSERT_LE(std::abs(sent.error.Get(i)), scale * 0.5001) << n << " " << i;
          ASSERT_NEAR(sent.values.Get(i) + sent.error.Get(i), x[i] + e[i], scale * 127 * 2e-7);
        }
      }
    }
    const std::vector<double> x = Numbers(20000, 1), e = Numbers(20000, 2);
    const Sent sent = Send({.format = "bf16", .parts = 3}, x, e, cpu);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const double size = std::abs(x[i] + e[i]);
      ASSERT_LE(std::abs(sent.error.Get(at)), size * 0x1p-8 * 1.0001) << i;
      ASSERT_NEAR(sent.values.Get(at) + sent.error.Get(at), x[i] + e[i],
                  2e-7 * (std::abs(x[i]) + std::abs(e[i])));
    }
  }
}

// 100 times the same x: what arrives in all differs from 100 x by one step, not by 100.
TEST(QuantizeBlocks, ErrorFeedbackLosesNothingOverTime) {
  for (const std::string format : {"int8", "bf16"}) {
    const std::vector<double> x = Numbers(40, 3);
    std::vector<double> error = Zeros(40), total = Zeros(40);
    for (int step = 0; step < 100; ++step) {
      const Sent sent = Send({.format = format}, x, error, true);
      error = sent.error.Values();
      for (size_t i = 0; i < x.size(); ++i) total[i] += sent.values.Get(static_cast<int64_t>(i));
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const double largest =
          std::abs(*std::max_element(x.begin() + static_cast<int64_t>(i / 8 * 8),
                                     x.begin() + static_cast<int64_t>(i / 8 * 8 + 8),
                                     [](double a, double b) { return std::abs(a) < std::abs(b); }));
      EXPECT_NEAR(total[i], 100 * x[i], largest / 127 + 1e-5 * largest) << format << " " << i;
    }
  }
}

TEST(QuantizeBlocks, ErrorMayBeUpdatedInPlace) {
  for (const std::string format : {"int8", "bf16"}) {
    OpCase c = Case({.format = format, .parts = 2}, Numbers(100, 1), Numbers(100, 2));
    const std::vector<HostTensor> apart = RunOp(c, MakeInputs(c), {.cpu = true});
    c.in_place = {{1, 1}};
    const std::vector<HostTensor> in_place = RunOp(c, MakeInputs(c), {.cpu = true});
    for (int i = 0; i < 2; ++i) EXPECT_EQ(apart[i].Values(), in_place[i].Values()) << format;
  }
}

TEST(QuantizeBlocks, ZerosStayZeros) {
  for (const std::string format : {"int8", "bf16"}) {
    for (const bool cpu : {false, true}) {
      const Sent sent = Send({.format = format, .parts = 3}, Zeros(10), Zeros(10), cpu);
      EXPECT_EQ(sent.payload.Values(), Zeros(static_cast<size_t>(sent.payload.count())));
      EXPECT_EQ(sent.values.Values(), Zeros(10));
      EXPECT_EQ(sent.error.Values(), Zeros(10));
    }
  }
}

// Too small for a scale: sent as zeros, kept as error.
TEST(QuantizeBlocks, TinyValuesWaitInTheError) {
  for (const bool cpu : {false, true}) {
    const Sent sent = Send({}, {0x1p-110, -0x1p-140}, Zeros(2), cpu);
    EXPECT_EQ(sent.values.Values(), Zeros(2));
    EXPECT_EQ(sent.error.Values(), std::vector<double>({0x1p-110, -0x1p-140}));
  }
}

// The reader sees a number that is not finite; the error keeps what it was. Other blocks are whole.
TEST(QuantizeBlocks, NonFiniteValuesAreNoticedAndForgotten) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, -infinity, std::nan("")}) {
    for (const std::string format : {"int8", "bf16"}) {
      for (const bool cpu : {false, true}) {
        const Sent sent =
            Send({.format = format, .block = 4}, {1, bad, 1, 1, 127}, {0, 0.5, 0, 0, 0}, cpu);
        EXPECT_FALSE(std::isfinite(sent.values.Get(1))) << format << cpu;
        EXPECT_EQ(sent.values.Get(4), 127) << format << cpu;
        EXPECT_EQ(sent.error.Values(), std::vector<double>({0, 0.5, 0, 0, 0})) << format << cpu;
      }
    }
  }
}

// Values and errors, not bytes: a value between two steps may go either way.
TEST(QuantizeBlocks, CpuMatchesReference) {
  for (const Packing& packing :
       std::vector<Packing>{{"int8", 256, 1}, {"int8", 4, 5}, {"bf16", 256, 1}, {"bf16", 4, 5}}) {
    for (const int64_t n : {1, 5, 257, 70001}) {
      const std::vector<double> x = Numbers(n, 1), e = Numbers(n, 2);
      const Sent reference = Send(packing, x, e, false);
      const Sent cpu = Send(packing, x, e, true);
      int64_t differing = 0;
      for (int64_t i = 0; i < n; ++i) {
        differing += std::abs(reference.values.Get(i) - cpu.values.Get(i)) >
                     1e-6 * std::abs(reference.values.Get(i));
      }
      EXPECT_LE(differing, n / 1000) << packing.format << " " << n;
    }
  }
}

TEST(QuantizeBlocks, RefusesWhatItCannotPack) {
  ExpectInferError(Case({.format = "fp8"}, {1}, {0}), "it can be int8 or bf16");
  ExpectInferError(Case({.block = 6}, {1}, {0}), "block 6 must be a positive multiple of 4");
  ExpectInferError(Case({.parts = 0}, {1}, {0}), "parts 0 must be at least 1");
  ExpectInferError(InFloat64(Case({}, {1}, {0})), "must be float32");
  OpCase c = Case({}, {1, 2}, {0, 0});
  c.inputs[1] = Case({}, {1}, {0}).inputs[1];
  ExpectInferError(c, "must have the 2 elements of operand 0");
}

}  // namespace
}  // namespace trireme
