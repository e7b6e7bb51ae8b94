// x + error as int8 blocks, a warp a block of the payload, or as bf16, a thread four elements. 12
// bytes are read or written an element besides the payload; what int8 reads twice is in the cache
// the second time. See reference.cc for the equations.
#include <cmath>

#include "kernels/device/cuda/wide.h"
#include "kernels/ops/quantize_blocks/layout.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;
constexpr float kTiny = 0x1p-100f;
constexpr int kInfinityBits = 0x7f800000;

__device__ __forceinline__ bool IsFinite(float x) { return x - x == 0; }

struct Blocks {
  const float* x;
  const float* error;
  float* new_error;
  int64_t count;           // elements
  int64_t piece_elements;  // as in layout.h
  int64_t piece_bytes;
  int64_t piece_blocks;
  int64_t block;
  bool aligned;  // x and the errors, each at 16 bytes
};

struct Four {
  float sum[4], error[4];
};

// Elements i .. i + 3 of what starts at `begin` and holds n; 0 behind its end. `wide`: 16-byte
// loads.
__device__ __forceinline__ Four LoadFour(const Blocks& b, int64_t begin, int64_t i, int64_t n,
                                         bool wide) {
  Four four = {};
  if (wide && i + 4 <= n) {
    const Wide<float, 4> x = LoadWide<4>(b.x + begin + i, 0);
    const Wide<float, 4> error = LoadWide<4>(b.error + begin + i, 0);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      four.error[k] = error.at[k];
      four.sum[k] = x.at[k] + error.at[k];
    }
    return four;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (i + k >= n) continue;
    four.error[k] = b.error[begin + i + k];
    four.sum[k] = b.x[begin + i + k] + four.error[k];
  }
  return four;
}

__device__ __forceinline__ void StoreError(const Blocks& b, int64_t begin, int64_t i, int64_t n,
                                           bool wide, const float (&error)[4]) {
  if (wide && i + 4 <= n) {
    StoreWide<4>(b.new_error + begin + i, 0,
                 Wide<float, 4>{error[0], error[1], error[2], error[3]});
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (i + k < n) b.new_error[begin + i + k] = error[k];
  }
}

// The largest |x + error| as bits, where infinity and NaN are largest of all, in every lane.
__device__ __forceinline__ int LargestBits(const Blocks& b, int64_t begin, int64_t n, bool wide) {
  int largest = 0;
  for (int64_t i = 4 * (threadIdx.x % kWarp); i < n; i += 4 * kWarp) {
    const Four four = LoadFour(b, begin, i, n, wide);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int bits = __float_as_int(four.sum[k]) & 0x7fffffff;
      largest = bits > largest ? bits : largest;
    }
  }
  return WarpMax(largest);
}

// One warp: n elements from `begin` as the block at `bytes`.
__device__ __forceinline__ void Int8Block(const Blocks& b, int64_t begin, int64_t n, char* bytes) {
  const bool wide = b.aligned && begin % 4 == 0;
  const int bits = LargestBits(b, begin, n, wide);
  const float largest = __int_as_float(bits);
  const bool finite = bits < kInfinityBits;
  const float inverse = largest < kTiny ? 0.0f : 127.0f / largest;
  const float scale = !finite ? NAN : largest < kTiny ? 0.0f : largest / 127.0f;
  const int lane = threadIdx.x % kWarp;
  if (lane == 0) *reinterpret_cast<float*>(bytes) = scale;
  for (int64_t i = 4 * lane; i < b.block; i += 4 * kWarp) {
    const Four four = LoadFour(b, begin, i, n, wide);
    Wide<int8_t, 4> values;
    float error[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float value = finite ? rintf(four.sum[k] * inverse) : 0.0f;
      values.at[k] = static_cast<int8_t>(value);
      const float old = IsFinite(four.error[k]) ? four.error[k] : 0.0f;
      error[k] = finite ? four.sum[k] - value * scale : old;
    }
    StoreWide<4>(reinterpret_cast<int8_t*>(bytes + kScaleBytes), i / 4, values);
    StoreError(b, begin, i, n, wide, error);
  }
}

__global__ void __launch_bounds__(kThreads) Int8(Blocks b, char* payload, int64_t all_blocks) {
  for (int64_t t = GridIndex() / kWarp; t < all_blocks; t += GridStride() / kWarp) {
    const int64_t part = t / b.piece_blocks;
    const int64_t in_piece = t % b.piece_blocks * b.block;
    const int64_t begin = min(b.count, part * b.piece_elements + in_piece);
    const int64_t n = min(min(b.block, b.piece_elements - in_piece), b.count - begin);
    const int64_t at = part * b.piece_bytes + t % b.piece_blocks * (kScaleBytes + b.block);
    Int8Block(b, begin, n, payload + at);
  }
}

// Pieces stand side by side without padding between them: `all` numbers, zeros behind the count.
__global__ void __launch_bounds__(kThreads) BFloat16(Blocks b, uint16_t* payload, int64_t all) {
  for (int64_t i = 4 * GridIndex(); i < all; i += 4 * GridStride()) {
    const Four four = LoadFour(b, 0, i, b.count, b.aligned);
    Wide<uint16_t, 4> values;
    float error[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto bits = static_cast<uint32_t>(__float_as_int(four.sum[k]));
      const bool is_nan = (bits & 0x7fffffffu) > static_cast<uint32_t>(kInfinityBits);
      const uint32_t upper = is_nan ? 0x7fc0u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
      values.at[k] = static_cast<uint16_t>(upper);
      const float sent = __int_as_float(static_cast<int>(upper << 16));
      const float old = IsFinite(four.error[k]) ? four.error[k] : 0.0f;
      error[k] = IsFinite(sent) ? four.sum[k] - sent : old;
    }
    StoreError(b, 0, i, b.count, b.aligned, error);
    if (i + 4 <= all) {
      StoreWide<4>(payload, i / 4, values);
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (i + k < all) payload[i + k] = values.at[k];
      }
    }
  }
}

}  // namespace

void Cuda_quantize_blocks(const KernelArgs& args) {
  const BlockFormat format = ParseBlockFormat(args.attrs.GetString("format")).value();
  const int64_t block = args.attrs.GetInt("block", kDefaultQuantizeBlock);
  const int64_t parts = args.attrs.GetInt("parts", 1);
  const int64_t count = args.in[0].count();
  const Blocks blocks{
      .x = args.in[0].f32(),
      .error = args.in[1].f32(),
      .new_error = args.out[1].f32(),
      .count = count,
      .piece_elements = PieceElements(count, parts),
      .piece_bytes = PieceBytes(format, count, block, parts),
      .piece_blocks = CeilDiv(PieceElements(count, parts), block),
      .block = block,
      .aligned = AreAligned16(args.in[0].f32(), args.in[1].f32(), args.out[1].f32())};
  CHECK_EQ(args.out[0].count(), parts * blocks.piece_bytes);
  if (count == 0) return;
  char* payload = args.out[0].as<char>();
  CHECK_EQ(reinterpret_cast<uintptr_t>(payload) % 8, 0u) << "payloads start at 8 bytes";
  if (format == BlockFormat::kInt8) {
    const int64_t all = parts * blocks.piece_blocks;
    TRIREME_LAUNCH(args, BlocksFor(all * kWarp, kThreads), kThreads, 0, Int8, blocks, payload, all);
    return;
  }
  const int64_t all = parts * blocks.piece_elements;
  TRIREME_LAUNCH(args, BlocksFor(CeilDiv(all, int64_t{4}), kThreads), kThreads, 0, BFloat16, blocks,
                 reinterpret_cast<uint16_t*>(payload), all);
}

}  // namespace trireme
