// A 64 x 64 tile of a matrix product by one block: slices of both operands pass through shared
// memory, each thread keeps 4 x 4 sums in registers. Sums run over the inner dim in order, so the
// result depends on nothing but the operands. Plain float32 multiply-adds.
#ifndef TRIREME_KERNELS_DEVICE_CUDA_TILE_PRODUCT_H_
#define TRIREME_KERNELS_DEVICE_CUDA_TILE_PRODUCT_H_

#include "kernels/device/cuda/cuda.h"

namespace trireme {

inline constexpr int kTile = 64;       // rows and columns of the result
inline constexpr int kTileInner = 16;  // inner elements a slice
inline constexpr int kTileThreads = 256;
inline constexpr int kTilePerThread = 4;  // rows, and columns

// What one thread holds: rows ty + 16 r and columns tx + 16 c of the tile.
struct TileSums {
  float value[kTilePerThread][kTilePerThread];
};

struct TileShared {
  float a[kTileInner][kTile + 1];
  float b[kTileInner][kTile + 1];
};

__device__ __forceinline__ int TileRow(int r) { return threadIdx.x / 16 + 16 * r; }
__device__ __forceinline__ int TileColumn(int c) { return threadIdx.x % 16 + 16 * c; }

// sum over k < inner of a(row, k) * b(k, column); `a` and `b` give 0 outside of their matrices. All
// threads of the block call it together.
template <typename A, typename B>
__device__ __forceinline__ TileSums TileProduct(int64_t inner, const A& a, const B& b,
                                                TileShared& shared) {
  TileSums sums = {};
  for (int64_t first = 0; first < inner; first += kTileInner) {
    for (int i = threadIdx.x; i < kTileInner * kTile; i += kTileThreads) {
      const int k = i % kTileInner;
      shared.a[k][i / kTileInner] = first + k < inner ? a(i / kTileInner, first + k) : 0.0f;
    }
    for (int i = threadIdx.x; i < kTileInner * kTile; i += kTileThreads) {
      const int k = i / kTile;
      shared.b[k][i % kTile] = first + k < inner ? b(first + k, i % kTile) : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < kTileInner; ++k) {
      float x[kTilePerThread], y[kTilePerThread];
#pragma unroll
      for (int r = 0; r < kTilePerThread; ++r) x[r] = shared.a[k][TileRow(r)];
#pragma unroll
      for (int c = 0; c < kTilePerThread; ++c) y[c] = shared.b[k][TileColumn(c)];
#pragma unroll
      for (int r = 0; r < kTilePerThread; ++r) {
#pragma unroll
        for (int c = 0; c < kTilePerThread; ++c) sums.value[r][c] += x[r] * y[c];
      }
    }
    __syncthreads();
  }
  return sums;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_TILE_PRODUCT_H_
