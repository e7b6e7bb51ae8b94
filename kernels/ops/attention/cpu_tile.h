// Scores of one tile of attention with the mask applied, shared by attention and its gradient.
#ifndef TRIREME_KERNELS_OPS_ATTENTION_CPU_TILE_H_
#define TRIREME_KERNELS_OPS_ATTENTION_CPU_TILE_H_

#include <cstdint>
#include <limits>

#include "kernels/device/gemm.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/attention/key_tiles.h"

namespace trireme {

// s = s * scale where the key is allowed, -inf elsewhere.
TRIREME_SIMD void MaskRow(float* s, int64_t n, float scale, int32_t lowest, int32_t q_position,
                          int32_t q_segment, const int32_t* k_positions,
                          const int32_t* k_segments) {
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const float scaled = s[j] * scale;
    const bool allowed =
        (k_positions[j] >= lowest) & (k_positions[j] <= q_position) & (k_segments[j] == q_segment);
    s[j] = allowed ? scaled : kMinusInfinity;
  }
}

TRIREME_SIMD void ScaleRow(float* s, int64_t n, float scale) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) s[j] *= scale;
}

// scores[i, j] = scale * q_i . k_j, masked; [num_queries, num_keys] dense.
inline void TileScores(const AttentionSizes& shape, const AttentionTile& tile, const float* q,
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
    const int32_t q_position = shape.q_positions[query];
    RunSimd<MaskRow>(scores + i * tile.num_keys, tile.num_keys, shape.scale,
                     LowestKey(q_position, shape.window), q_position, shape.q_segments[query],
                     shape.k_positions + key, shape.k_segments + key);
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ATTENTION_CPU_TILE_H_
