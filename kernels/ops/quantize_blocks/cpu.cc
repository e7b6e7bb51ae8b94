// Blocks are packed independently, each in two passes: the largest value (as bits, where infinity
// and NaN are largest of all), then values and errors. See reference.cc for the equations.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/device/parallel.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/quantize_blocks/attributes.h"

namespace trireme {
namespace {

constexpr float kTiny = 0x1p-100f;
constexpr int32_t kInfinityBits = 0x7f800000;
// Adding it rounds a small number to an integer, found in the low bits.
constexpr float kRound = 12582912.0f;

TRIREME_SIMD void LargestBits(const float* x, const float* error, int64_t n, int32_t* result) {
  int32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) {
    const int32_t bits = std::bit_cast<int32_t>(x[i] + error[i]) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  *result = largest;
}

// values = round((x + error) inverse); new_error = x + error - values scale.
TRIREME_SIMD void QuantizeRange(const float* x, const float* error, int64_t n, float inverse,
                                float scale, int8_t* values, float* new_error) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float sum = x[i] + error[i];
    const float shifted = sum * inverse + kRound;
    values[i] =
        static_cast<int8_t>(std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound));
    new_error[i] = sum - (shifted - kRound) * scale;
  }
}

TRIREME_SIMD void KeepFinite(const float* error, int64_t n, float* new_error) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) new_error[i] = IsFiniteBits(error[i]) ? error[i] : 0.0f;
}

// n <= block elements as one block at `bytes`.
void Int8Block(const float* x, const float* error, int64_t n, int64_t block, char* bytes,
               float* new_error) {
  int32_t bits = 0;
  RunSimd<LargestBits>(x, error, n, &bits);
  const auto largest = std::bit_cast<float>(bits);
  const bool is_finite = bits < kInfinityBits;
  const float inverse = largest < kTiny ? 0.0f : 127.0f / largest;
  float scale = largest < kTiny ? 0.0f : largest / 127.0f;
  if (!is_finite) scale = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes, &scale, kScaleBytes);
  auto* values = reinterpret_cast<int8_t*>(bytes + kScaleBytes);
  std::memset(values + (is_finite ? n : 0), 0, block - (is_finite ? n : 0));
  if (!is_finite) return RunSimd<KeepFinite>(error, n, new_error);
  RunSimd<QuantizeRange>(x, error, n, inverse, scale, values, new_error);
}

TRIREME_SIMD void BFloat16Range(const float* x, const float* error, int64_t n, uint16_t* values,
                                float* new_error) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float sum = x[i] + error[i];
    const auto bits = std::bit_cast<uint32_t>(sum);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const uint32_t upper = is_nan ? 0x7fc0u : rounded;
    values[i] = static_cast<uint16_t>(upper);
    const auto sent = std::bit_cast<float>(upper << 16);
    const float old = IsFiniteBits(error[i]) ? error[i] : 0.0f;
    new_error[i] = IsFiniteBits(sent) ? sum - sent : old;
  }
}

}  // namespace

void Cpu_quantize_blocks(const KernelArgs& args) {
  const BlockAttributes attributes = ReadBlockAttributes(args.attrs);
  const auto [format, size, parts] = attributes;
  const bool is_int8 = format == BlockFormat::kInt8;
  const int64_t count = args.in[0].count();
  const int64_t piece_elements = PieceElements(count, parts);
  const int64_t piece_bytes = PieceBytes(format, count, size, parts);
  CHECK_EQ(args.out[0].count(), parts * piece_bytes);
  const float* x = args.in[0].f32();
  const float* error = args.in[1].f32();
  char* payload = args.out[0].as<char>();
  float* new_error = args.out[1].f32();
  const int64_t block = is_int8 ? size : kGrainElements;  // of work
  const int64_t block_bytes = is_int8 ? kScaleBytes + block : 2 * block;
  const int64_t blocks = CeilDiv(piece_elements, block);
  ParallelRows(args.stream, parts * blocks, block, [&](int64_t task) {
    const int64_t part = task / blocks;
    const int64_t in_piece = task % blocks * block;
    const int64_t begin = std::min(count, part * piece_elements + in_piece);
    const int64_t room = std::min(block, piece_elements - in_piece);
    const int64_t n = std::min(room, count - begin);
    char* bytes = payload + part * piece_bytes + task % blocks * block_bytes;
    if (is_int8) {
      return Int8Block(x + begin, error + begin, n, block, bytes, new_error + begin);
    }
    auto* values = reinterpret_cast<uint16_t*>(bytes);
    RunSimd<BFloat16Range>(x + begin, error + begin, n, values, new_error + begin);
    std::memset(values + n, 0, 2 * (room - n));
  });
}

}  // namespace trireme
