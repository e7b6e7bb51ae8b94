// Blocks are unpacked independently; a block of every payload is added up while it is in the cache,
// in the order of the reference.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/quantize_blocks/attributes.h"

namespace trireme {
namespace {

TRIREME_SIMD void SetInt8(const int8_t* values, float scale, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(values[i]) * scale;
}

TRIREME_SIMD void AddInt8(const int8_t* values, float scale, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += static_cast<float>(values[i]) * scale;
}

TRIREME_SIMD void SetBFloat16(const uint16_t* values, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = std::bit_cast<float>(static_cast<uint32_t>(values[i]) << 16);
  }
}

TRIREME_SIMD void AddBFloat16(const uint16_t* values, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] += std::bit_cast<float>(static_cast<uint32_t>(values[i]) << 16);
  }
}

// y = or += the n first values of the block at `bytes`.
void Block(BlockFormat format, const char* bytes, float* y, int64_t n, bool add) {
  if (format == BlockFormat::kBFloat16) {
    const auto* values = reinterpret_cast<const uint16_t*>(bytes);
    return add ? RunSimd<AddBFloat16>(values, y, n) : RunSimd<SetBFloat16>(values, y, n);
  }
  float scale = 0;
  std::memcpy(&scale, bytes, kScaleBytes);
  const auto* values = reinterpret_cast<const int8_t*>(bytes + kScaleBytes);
  return add ? RunSimd<AddInt8>(values, scale, y, n) : RunSimd<SetInt8>(values, scale, y, n);
}

}  // namespace

void Cpu_dequantize_blocks(const KernelArgs& args) {
  const BlockAttributes attributes = ReadBlockAttributes(args.attrs);
  const BlockFormat format = attributes.format;
  const int64_t parts = attributes.parts;
  const int64_t count = args.out[0].count();
  const int64_t payloads = args.attrs.GetInt("sum_parts", 1);
  const int64_t own = args.attrs.GetInt("own", 0);
  const int64_t payload_bytes = PayloadBytes(format, count, attributes.block, parts);
  const int64_t piece_bytes = PieceBytes(format, count, attributes.block, parts);
  const int64_t piece_elements = PieceElements(count, parts);
  CHECK_EQ(args.in[0].count(), payloads * payload_bytes);
  const bool is_int8 = format == BlockFormat::kInt8;
  const int64_t block = is_int8 ? attributes.block : kGrainElements;  // of work
  const int64_t block_bytes = is_int8 ? kScaleBytes + block : 2 * block;
  const int64_t blocks = CeilDiv(piece_elements, block);
  const char* all = args.in[0].as<char>();
  float* y = args.out[0].f32();
  ParallelRows(args.stream, parts * blocks, block, [&](int64_t task) {
    const int64_t part = task / blocks;
    const int64_t in_piece = task % blocks * block;
    const int64_t begin = std::min(count, part * piece_elements + in_piece);
    const int64_t n = std::min({block, piece_elements - in_piece, count - begin});
    const int64_t offset = part * piece_bytes + task % blocks * block_bytes;
    for (int64_t turn = 1; turn <= payloads; ++turn) {
      const char* payload = all + (own + turn) % payloads * payload_bytes;
      Block(format, payload + offset, y + begin, n, /*add=*/turn > 1);
    }
  });
}

}  // namespace trireme
