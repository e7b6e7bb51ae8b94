// Blocks of queries against blocks of keys, shared by attention and its gradient: which keys a
// block of queries may see at all, and the scores of one block pair with the mask applied.
#ifndef TRIREME_KERNELS_OPS_ATTENTION_CPU_TILE_H_
#define TRIREME_KERNELS_OPS_ATTENTION_CPU_TILE_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/device/gemm.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/kernel.h"

namespace trireme {

inline constexpr int64_t kQueryBlock = 64;
inline constexpr int64_t kKeyBlock = 256;

// Sizes and attributes; inputs q, k, v and the positions and segments start at `first_input` and
// `first_index`.
struct AttentionShape {
  int64_t batch = 0, queries = 0, heads = 0, head_dim = 0, keys = 0, kv_heads = 0;
  int64_t query_group = 1, head_start = 0, kv_head_start = 0;
  float scale = 1;
  const int32_t* q_positions = nullptr;
  const int32_t* k_positions = nullptr;
  const int32_t* q_segments = nullptr;
  const int32_t* k_segments = nullptr;

  int64_t KvHead(int64_t head) const { return (head + head_start) / query_group - kv_head_start; }
  int64_t QueryOffset(int64_t b, int64_t query, int64_t head) const {
    return ((b * queries + query) * heads + head) * head_dim;
  }
  int64_t KeyOffset(int64_t b, int64_t key, int64_t kv_head) const {
    return ((b * keys + key) * kv_heads + kv_head) * head_dim;
  }
  int64_t query_stride() const { return heads * head_dim; }
  int64_t key_stride() const { return kv_heads * head_dim; }
};

inline AttentionShape MakeAttentionShape(const KernelArgs& args, int q_input, int index_input) {
  const Tensor& q = args.in[q_input];
  const Tensor& k = args.in[q_input + 1];
  return {.batch = q.size(0),
          .queries = q.size(1),
          .heads = q.size(2),
          .head_dim = q.size(3),
          .keys = k.size(1),
          .kv_heads = k.size(2),
          .query_group = args.attrs.GetInt("query_group"),
          .head_start = args.attrs.GetInt("head_start", 0),
          .kv_head_start = args.attrs.GetInt("kv_head_start", 0),
          .scale = static_cast<float>(args.attrs.GetDouble("scale")),
          .q_positions = args.in[index_input].i32(),
          .k_positions = args.in[index_input + 1].i32(),
          .q_segments = args.in[index_input + 2].i32(),
          .k_segments = args.in[index_input + 3].i32()};
}

// A block pair: queries [query, query + num_queries) and keys [key, key + num_keys) of batch row b.
struct AttentionTile {
  int64_t b = 0;
  int64_t query = 0, num_queries = 0;
  int64_t key = 0, num_keys = 0;
  bool masked = false;  // some pair in it is not allowed
};

// Smallest and largest of n > 0 numbers.
struct IntRange {
  int32_t low = std::numeric_limits<int32_t>::max();
  int32_t high = std::numeric_limits<int32_t>::min();
};
inline IntRange RangeOf(const int32_t* values, int64_t n) {
  IntRange range;
  for (int64_t i = 0; i < n; ++i) {
    range.low = std::min(range.low, values[i]);
    range.high = std::max(range.high, values[i]);
  }
  return range;
}

// Calls f(tile) for the key blocks that the block of queries at `query` can see, in order. Blocks
// are trimmed to the keys between the first and the last that any query may see, so causal and
// segment masks cost only what they keep.
template <typename F>
void ForEachKeyTile(const AttentionShape& shape, int64_t b, int64_t query, const F& f) {
  const int64_t num_queries = std::min(kQueryBlock, shape.queries - query);
  const int32_t* q_segments = shape.q_segments + b * shape.queries + query;
  const IntRange positions = RangeOf(shape.q_positions + b * shape.queries + query, num_queries);
  const IntRange segments = RangeOf(q_segments, num_queries);
  for (int64_t block = 0; block < shape.keys; block += kKeyBlock) {
    const int64_t n = std::min(kKeyBlock, shape.keys - block);
    const int32_t* k_positions = shape.k_positions + b * shape.keys + block;
    const int32_t* k_segments = shape.k_segments + b * shape.keys + block;
    const auto visible = [&](int64_t j) {
      return k_positions[j] <= positions.high && k_segments[j] >= segments.low &&
             k_segments[j] <= segments.high;
    };
    int64_t begin = 0;
    int64_t end = n;
    while (begin < n && !visible(begin)) ++begin;
    while (end > begin && !visible(end - 1)) --end;
    if (begin == end) continue;
    const IntRange key_positions = RangeOf(k_positions + begin, end - begin);
    const IntRange key_segments = RangeOf(k_segments + begin, end - begin);
    const bool one_segment = segments.low == segments.high && key_segments.low == segments.low &&
                             key_segments.high == segments.low;
    f(AttentionTile{b, query, num_queries, block + begin, end - begin,
                    !one_segment || key_positions.high > positions.low});
  }
}

// s = s * scale where the key is allowed, -inf elsewhere.
TRIREME_SIMD void MaskRow(float* s, int64_t n, float scale, int32_t q_position, int32_t q_segment,
                          const int32_t* k_positions, const int32_t* k_segments) {
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const float scaled = s[j] * scale;
    const bool allowed = (k_positions[j] <= q_position) & (k_segments[j] == q_segment);
    s[j] = allowed ? scaled : kMinusInfinity;
  }
}

TRIREME_SIMD void ScaleRow(float* s, int64_t n, float scale) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) s[j] *= scale;
}

// scores[i, j] = scale * q_i . k_j, masked; [num_queries, num_keys] dense.
inline void TileScores(const AttentionShape& shape, const AttentionTile& tile, const float* q,
                       const float* k, float* scores) {
  Gemm(1, {.m = tile.num_queries, .n = tile.num_keys, .k = shape.head_dim},
       {q, shape.query_stride(), false}, {k, shape.key_stride(), true}, scores, tile.num_keys,
       /*add=*/false);
  if (!tile.masked) {
    RunSimd<ScaleRow>(scores, tile.num_queries * tile.num_keys, shape.scale);
    return;
  }
  for (int64_t i = 0; i < tile.num_queries; ++i) {
    const int64_t query = tile.b * shape.queries + tile.query + i;
    const int64_t key = tile.b * shape.keys + tile.key;
    RunSimd<MaskRow>(scores + i * tile.num_keys, tile.num_keys, shape.scale,
                     shape.q_positions[query], shape.q_segments[query], shape.k_positions + key,
                     shape.k_segments + key);
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ATTENTION_CPU_TILE_H_
