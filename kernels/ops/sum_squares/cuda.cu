// Squares summed in double: blocks sum strides of the array into the workspace, then one block sums
// what they found, always in the same order. 4 bytes are read an element. Without a workspace one
// block does it all, at the speed of one SM.
#include "kernels/device/cuda/wide.h"
#include "kernels/ops/sum_squares/partials.h"

namespace trireme {
namespace {

constexpr int kThreads = 512;

struct Stats {
  double squares = 0;
  double non_finite = 0;

  __device__ __forceinline__ void Take(float x) {
    // x - x is 0 where x is finite.
    const bool finite = x - x == 0;
    const double value = finite ? static_cast<double>(x) : 0.0;
    squares += value * value;
    non_finite += finite ? 0.0 : 1.0;
  }

  // Adds up what the block's threads have, and sets or adds to out[0] and out[1].
  __device__ __forceinline__ void Finish(double* out, bool add) const {
    __shared__ double shared[kThreads / kWarp];
    const double all_squares = BlockSum(squares, shared);
    const double all_non_finite = BlockSum(non_finite, shared);
    if (threadIdx.x > 0) return;
    out[0] = add ? out[0] + all_squares : all_squares;
    out[1] = add ? out[1] + all_non_finite : all_non_finite;
  }
};

// Block b's sums go to out[2 b] and out[2 b + 1].
__global__ void __launch_bounds__(kThreads)
    SumSquares(const float* __restrict__ x, int64_t quads, int64_t count, double* out, bool add) {
  Stats stats;
#pragma unroll 4
  for (int64_t q = GridIndex(); q < quads; q += GridStride()) {
    const Wide<float, 4> four = LoadWide<4>(x, q);
#pragma unroll
    for (int k = 0; k < 4; ++k) stats.Take(four.at[k]);
  }
  for (int64_t i = 4 * quads + GridIndex(); i < count; i += GridStride()) stats.Take(x[i]);
  stats.Finish(out + 2 * blockIdx.x, add);
}

__global__ void __launch_bounds__(kThreads)
    SumPartials(const double* __restrict__ partials, int64_t count, double* out, bool add) {
  Stats stats;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    stats.squares += partials[2 * i];
    stats.non_finite += partials[2 * i + 1];
  }
  stats.Finish(out, add);
}

}  // namespace

void Cuda_sum_squares(const KernelArgs& args) {
  const float* x = args.in[0].f32();
  double* out = args.out[0].f64();
  const bool contributes = args.attrs.GetInt("owner", 0) == 0;
  const int64_t count = contributes ? args.in[0].count() : 0;
  const int64_t quads = AreAligned16(x) ? count / 4 : 0;
  const int64_t blocks = args.workspace == nullptr ? 1 : SumSquaresBlocks(count);
  if (blocks == 1) {
    TRIREME_LAUNCH(args, 1, kThreads, 0, SumSquares, x, quads, count, out, args.accumulate);
    return;
  }
  auto* partials = static_cast<double*>(args.workspace);
  TRIREME_LAUNCH(args, static_cast<unsigned>(blocks), kThreads, 0, SumSquares, x, quads, count,
                 partials, false);
  TRIREME_LAUNCH(args, 1, kThreads, 0, SumPartials, partials, blocks, out, args.accumulate);
}

}  // namespace trireme
