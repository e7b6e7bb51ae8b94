// Teams of threads that share a row, a warp or a block each, and sums over the columns of many
// rows; all sums in an order that depends on nothing but sizes.
#ifndef TRIREME_KERNELS_DEVICE_CUDA_ROWS_H_
#define TRIREME_KERNELS_DEVICE_CUDA_ROWS_H_

#include "kernels/device/cuda/cuda.h"

namespace trireme {

inline constexpr int kRowThreads = 256;
inline constexpr int kRowWarps = kRowThreads / kWarp;

// Rows longer than this are worth a block.
inline constexpr int64_t kLongRow = 1024;

// Blocks of kRowThreads in which every warp, or every block, has one row.
inline unsigned BlocksForRows(int64_t rows, bool block_a_row) {
  return static_cast<unsigned>(block_a_row ? rows : (rows + kRowWarps - 1) / kRowWarps);
}

// The place of a thread in the team of a row, which is this block or one of its warps.
template <bool kBlock>
struct RowTeam {
  static constexpr int kSize = kBlock ? kRowThreads : kWarp;

  __device__ __forceinline__ static int64_t Row() {
    return kBlock ? int64_t{blockIdx.x}
                  : int64_t{blockIdx.x} * kRowWarps + static_cast<int>(threadIdx.x / kWarp);
  }
  __device__ __forceinline__ static int Index() {
    return static_cast<int>(kBlock ? threadIdx.x : threadIdx.x % kWarp);
  }
  // Sum over the team in every thread; `shared` has room for kRowWarps numbers.
  __device__ __forceinline__ static float Sum(float value, float* shared) {
    if constexpr (kBlock) return BlockSum(value, shared);
    return WarpSum(value);
  }
};

// Blocks of kColumnThreads take kWarp columns each; a warp reads kWarp neighbours of one row.
inline constexpr int kColumnThreads = kWarp * kWarp;

inline unsigned BlocksForColumns(int64_t columns) {
  return static_cast<unsigned>((columns + kWarp - 1) / kWarp);
}

// out[c] (+)= sum over rows of element(row, c) for the columns of this block. `shared` has room for
// kWarp * (kWarp + 1) numbers.
template <typename F>
__device__ __forceinline__ void SumColumns(int64_t rows, int64_t columns, const F& element,
                                           float* shared, float* out, bool accumulate) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kWarp + lane;
  float sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (int64_t row = warp; row < rows; row += kWarp) sum += element(row, column);
  }
  __syncthreads();  // `shared` may be in use by the sum before
  shared[warp * (kWarp + 1) + lane] = sum;
  __syncthreads();
  sum = WarpSum(shared[lane * (kWarp + 1) + warp]);
  const int64_t own = static_cast<int64_t>(blockIdx.x) * kWarp + warp;
  if (lane == 0 && own < columns) out[own] = accumulate ? out[own] + sum : sum;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_ROWS_H_
