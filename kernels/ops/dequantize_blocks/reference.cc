// Reference of dequantize_blocks: one element at a time; payloads are added in ring order, the one
// of member `own` last.
#include <bit>
#include <cstring>

#include "kernels/ops/kernel.h"
#include "kernels/ops/quantize_blocks/attributes.h"
#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// Element `i` of a piece.
double Element(const char* piece, int64_t i, const BlockAttributes& attributes) {
  if (attributes.format == BlockFormat::kBFloat16) {
    uint16_t upper = 0;
    std::memcpy(&upper, piece + 2 * i, 2);
    return std::bit_cast<float>(static_cast<uint32_t>(upper) << 16);
  }
  const int64_t block = attributes.block;
  const char* bytes = piece + i / block * (kScaleBytes + block);
  float scale = 0;
  std::memcpy(&scale, bytes, kScaleBytes);
  return static_cast<double>(scale) * static_cast<int8_t>(bytes[kScaleBytes + i % block]);
}

}  // namespace

void Reference_dequantize_blocks(const KernelArgs& args) {
  const BlockAttributes attributes = ReadBlockAttributes(args.attrs);
  const auto& [format, block, parts] = attributes;
  const int64_t count = args.out[0].count();
  const int64_t payloads = args.attrs.GetInt("sum_parts", 1);
  const int64_t own = args.attrs.GetInt("own", 0);
  const int64_t payload_bytes = PayloadBytes(format, count, block, parts);
  const int64_t piece_bytes = PieceBytes(format, count, block, parts);
  const int64_t piece_elements = PieceElements(count, parts);
  CHECK_EQ(args.in[0].count(), payloads * payload_bytes);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t turn = 1; turn <= payloads; ++turn) {
      const char* payload = args.in[0].as<char>() + (own + turn) % payloads * payload_bytes;
      sum += Element(payload + i / piece_elements * piece_bytes, i % piece_elements, attributes);
    }
    Store(args.out[0], i, sum);
  }
}

}  // namespace trireme
