// One block a 64 x 64 tile of one expert's gradient: it sums over the expert's rows, part after
// part, in order. Nothing is added up between blocks.
#include "kernels/device/cuda/tile_product.h"

namespace trireme {
namespace {

struct Pool {
  int64_t slots;          // of one part
  int64_t parts;          // of the tokens
  int64_t experts;        // of a shard
  int64_t total_experts;  // of all local shards
};

__global__ void __launch_bounds__(kTileThreads, 2)
    GroupedDotGrad(const float* __restrict__ rows, const float* __restrict__ dout,
                   const int32_t* __restrict__ counts, float* __restrict__ dw, Pool pool,
                   int64_t in, int64_t columns, bool accumulate) {
  __shared__ TileShared shared;
  const int64_t expert = blockIdx.z;
  const int64_t shard = expert / pool.experts;
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kTile;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTile;
  TileSums total = {};
  for (int64_t part = 0; part < pool.parts; ++part) {
    const int32_t* of_part = counts + part * pool.total_experts;
    int64_t start = (shard * pool.parts + part) * pool.slots;
    for (int64_t e = shard * pool.experts; e < expert; ++e) start += of_part[e];
    const float* a = rows + start * in;
    const float* b = dout + start * columns;
    const TileSums sums = TileProduct(
        of_part[expert],
        [&](int r, int64_t k) { return row + r < in ? a[k * in + row + r] : 0.0f; },
        [&](int64_t k, int c) { return column + c < columns ? b[k * columns + column + c] : 0.0f; },
        shared);
#pragma unroll
    for (int r = 0; r < kTilePerThread; ++r) {
#pragma unroll
      for (int c = 0; c < kTilePerThread; ++c) total.value[r][c] += sums.value[r][c];
    }
  }
#pragma unroll
  for (int r = 0; r < kTilePerThread; ++r) {
#pragma unroll
    for (int c = 0; c < kTilePerThread; ++c) {
      const int64_t i = row + TileRow(r);
      const int64_t o = column + TileColumn(c);
      if (i >= in || o >= columns) continue;
      float& element = dw[(expert * in + i) * columns + o];
      element = accumulate ? element + total.value[r][c] : total.value[r][c];
    }
  }
}

}  // namespace

void Cuda_grouped_dot_grad(const KernelArgs& args) {
  const Tensor& rows = args.in[0];
  const Tensor& counts = args.in[2];
  const Tensor& dw = args.out[0];
  const int64_t shards = rows.size(0);
  const Pool pool = {rows.size(1) / counts.size(1), counts.size(1), counts.size(2) / shards,
                     counts.size(2)};
  if (dw.count() == 0) return;
  const auto tiles = [](int64_t n) { return static_cast<unsigned>((n + kTile - 1) / kTile); };
  const dim3 grid(tiles(dw.size(2)), tiles(dw.size(1)), static_cast<unsigned>(dw.size(0)));
  const int32_t* of_wave =
      counts.i32() + args.attrs.GetInt("wave") * counts.size(1) * counts.size(2);
  TRIREME_LAUNCH(args, grid, kTileThreads, 0, GroupedDotGrad, rows.f32(), args.in[1].f32(), of_wave,
                 dw.f32(), pool, dw.size(1), dw.size(2), args.accumulate);
}

}  // namespace trireme
