// Reference of quantize_blocks: one element at a time.
//   v = x + error; payload ~ v; error' = v - what the payload says
// Where the payload is not finite (v is not, or is too large for bf16), error' = error, so that one
// overflow is noticed by whoever reads the payload but does not stay in the error for ever.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/ops/kernel.h"
#include "kernels/ops/quantize_blocks/attributes.h"
#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// Below this largest value a block is sent as zeros and stays in the error: 127 / largest must not
// overflow.
constexpr float kTiny = 0x1p-100f;

struct Work {
  const KernelArgs& args;
  BlockAttributes attributes;

  // The sum is rounded to float: kernels compute in float and compare with it.
  float Sum(int64_t i) const {
    return static_cast<float>(Load(args.in[0], i) + Load(args.in[1], i));
  }
  void StoreError(int64_t i, double sent) const {
    const double old = Load(args.in[1], i);
    double error = Sum(i) - sent;
    if (!std::isfinite(sent)) error = std::isfinite(old) ? old : 0;
    Store(args.out[1], i, error);
  }
};

// Elements [begin, end) as one block at `bytes`.
void Int8Block(const Work& work, int64_t begin, int64_t end, char* bytes) {
  float largest = 0;
  bool finite = true;
  for (int64_t i = begin; i < end; ++i) {
    finite = finite && std::isfinite(work.Sum(i));
    largest = std::max(largest, std::abs(work.Sum(i)));
  }
  float scale = largest < kTiny ? 0 : largest / 127;
  if (!finite) scale = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes, &scale, kScaleBytes);
  auto* values = reinterpret_cast<int8_t*>(bytes + kScaleBytes);
  std::memset(values, 0, work.attributes.block);
  for (int64_t i = begin; i < end; ++i) {
    double value = 0;
    if (scale > 0) value = std::nearbyint(static_cast<double>(work.Sum(i)) * (127.0f / largest));
    values[i - begin] = static_cast<int8_t>(value);
    work.StoreError(i, value * scale);
  }
}

// Elements [begin, end) at `bytes`.
void BFloat16Piece(const Work& work, int64_t begin, int64_t end, char* bytes) {
  for (int64_t i = begin; i < end; ++i) {
    const float value = work.Sum(i);
    const auto bits = std::bit_cast<uint32_t>(value);
    uint32_t upper = bits >> 16;
    const uint32_t rest = bits & 0xffff;
    if (rest > 0x8000 || (rest == 0x8000 && upper % 2 == 1)) ++upper;
    if (std::isnan(value)) upper = 0x7fc0;
    const auto stored = static_cast<uint16_t>(upper);
    std::memcpy(bytes + 2 * (i - begin), &stored, 2);
    work.StoreError(i, std::bit_cast<float>(upper << 16));
  }
}

}  // namespace

void Reference_quantize_blocks(const KernelArgs& args) {
  const Work work{args, ReadBlockAttributes(args.attrs)};
  const auto& [format, block, parts] = work.attributes;
  const int64_t count = args.in[0].count();
  const int64_t piece_elements = PieceElements(count, parts);
  const int64_t piece_bytes = PieceBytes(format, count, block, parts);
  CHECK_EQ(args.out[0].count(), parts * piece_bytes);
  char* payload = args.out[0].as<char>();
  std::memset(payload, 0, parts * piece_bytes);
  for (int64_t part = 0; part < parts; ++part) {
    char* piece = payload + part * piece_bytes;
    const int64_t begin = std::min(count, part * piece_elements);
    const int64_t end = std::min(count, begin + piece_elements);
    if (format == BlockFormat::kBFloat16) BFloat16Piece(work, begin, end, piece);
    for (int64_t i = begin; i < end && format == BlockFormat::kInt8; i += block) {
      Int8Block(work, i, std::min(end, i + block),
                piece + (i - begin) / block * (kScaleBytes + block));
    }
  }
}

}  // namespace trireme
