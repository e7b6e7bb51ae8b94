// Layout of the payload of quantize_blocks: `parts` equal pieces, piece j holding the elements
// [j * PieceElements, (j + 1) * PieceElements) of the tensor in row-major order, so that all_to_all
// brings piece j to member j, and where parts divides the count, piece j is shard j. Behind the
// tensor's end are zeros. A piece is
//   int8: blocks of {float scale = largest |value| / 127, then `block` int8}: value = scale * int8
//   bf16: the upper 16 bits of each float, rounded to nearest even
// in the byte order of the machine.
#ifndef TRIREME_KERNELS_OPS_QUANTIZE_BLOCKS_LAYOUT_H_
#define TRIREME_KERNELS_OPS_QUANTIZE_BLOCKS_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/math.h"

namespace trireme {

enum class BlockFormat : uint8_t { kInt8, kBFloat16 };

inline constexpr int64_t kDefaultQuantizeBlock = 256;
inline constexpr int64_t kScaleBytes = 4;

// "int8" or "bf16".
inline std::optional<BlockFormat> ParseBlockFormat(std::string_view name) {
  if (name == "int8") return BlockFormat::kInt8;
  if (name == "bf16") return BlockFormat::kBFloat16;
  return std::nullopt;
}

// Elements of the tensor in one of `parts` pieces; the last pieces may hold fewer.
inline int64_t PieceElements(int64_t count, int64_t parts) { return CeilDiv(count, parts); }

// Bytes of one of `parts` pieces of `count` elements. int8 rounds up to whole blocks, of a multiple
// of 4 elements; bf16 has no blocks.
inline int64_t PieceBytes(BlockFormat format, int64_t count, int64_t block, int64_t parts) {
  const int64_t elements = PieceElements(count, parts);
  if (format == BlockFormat::kBFloat16) return 2 * elements;
  return CeilDiv(elements, block) * (kScaleBytes + block);
}

// Example: PayloadBytes(kInt8, 1000, 256, 2) is 2 pieces of 500 elements in 2 blocks: 1040.
inline int64_t PayloadBytes(BlockFormat format, int64_t count, int64_t block, int64_t parts) {
  return parts * PieceBytes(format, count, block, parts);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_QUANTIZE_BLOCKS_LAYOUT_H_
