// Blocks take tiles of 64 rows of one expert by 64 columns; which expert a tile is of follows from
// the counts, which only the device knows, so the grid has as many tiles as there could be and
// those past the end leave. The last tiles of a pool zero its slots without a row.
#include "kernels/device/cuda/tile_product.h"

namespace trireme {
namespace {

struct Pool {
  int64_t slots;          // of one part
  int64_t parts;          // of the tokens, in a shard
  int64_t experts;        // of a shard
  int64_t total_experts;  // of all local shards
};

struct TileOfRows {
  int64_t start = 0;   // slot in the part
  int64_t rows = 0;    // 1 to 64, 0 = no such tile
  int64_t expert = 0;  // -1 = slots without a row
};

// Tile number `tile` of a part: of its experts in order, then of the rest of its slots.
__device__ TileOfRows FindTile(const int32_t* counts, const Pool& pool, int64_t tile) {
  int64_t start = 0;
  for (int64_t e = 0; e <= pool.experts; ++e) {
    const bool rest = e == pool.experts;
    const int64_t rows = rest ? pool.slots - start : counts[e];
    const int64_t tiles = (rows + kTile - 1) / kTile;
    if (tile < tiles) {
      const int64_t left = rows - tile * kTile;
      return {start + tile * kTile, left < kTile ? left : kTile, rest ? -1 : e};
    }
    tile -= tiles;
    start += rows;
  }
  return {};
}

template <bool kTransposed>
__global__ void __launch_bounds__(kTileThreads, 2)
    GroupedDot(const float* __restrict__ rows, const float* __restrict__ w,
               const int32_t* __restrict__ counts, float* __restrict__ out, Pool pool, int64_t in,
               int64_t columns, bool accumulate) {
  __shared__ TileShared shared;
  const int64_t shard = blockIdx.z / pool.parts;
  const int64_t part = blockIdx.z % pool.parts;
  const int64_t first_expert = shard * pool.experts;
  const TileOfRows tile =
      FindTile(counts + part * pool.total_experts + first_expert, pool, blockIdx.y);
  if (tile.rows == 0 || (tile.expert < 0 && accumulate)) return;
  const int64_t slot = (shard * pool.parts + part) * pool.slots + tile.start;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTile;
  TileSums sums = {};
  if (tile.expert >= 0) {
    const float* a = rows + slot * in;
    const float* b = w + (first_expert + tile.expert) * in * columns;
    sums = TileProduct(
        in, [&](int r, int64_t k) { return r < tile.rows ? a[r * in + k] : 0.0f; },
        [&](int64_t k, int c) {
          if (column + c >= columns) return 0.0f;
          return kTransposed ? b[(column + c) * in + k] : b[k * columns + column + c];
        },
        shared);
  }
#pragma unroll
  for (int r = 0; r < kTilePerThread; ++r) {
#pragma unroll
    for (int c = 0; c < kTilePerThread; ++c) {
      const int64_t at = column + TileColumn(c);
      if (TileRow(r) >= tile.rows || at >= columns) continue;
      float& element = out[(slot + TileRow(r)) * columns + at];
      element = accumulate ? element + sums.value[r][c] : sums.value[r][c];
    }
  }
}

}  // namespace

void Cuda_grouped_dot(const KernelArgs& args) {
  const Tensor& rows = args.in[0];
  const Tensor& counts = args.in[2];
  const int64_t in = rows.sizes.back();
  const int64_t columns = args.out[0].sizes.back();
  const int64_t shards = rows.size(0);
  const Pool pool = {rows.size(1) / counts.size(1), counts.size(1), counts.size(2) / shards,
                     counts.size(2)};
  if (rows.count() == 0 || columns == 0) return;
  const int64_t tiles = pool.slots / kTile + pool.experts + 2;
  const dim3 grid(static_cast<unsigned>((columns + kTile - 1) / kTile),
                  static_cast<unsigned>(tiles), static_cast<unsigned>(shards * pool.parts));
  const int32_t* of_wave =
      counts.i32() + args.attrs.GetInt("wave") * counts.size(1) * counts.size(2);
  auto* const kernel = args.attrs.GetInt("transposed") != 0 ? GroupedDot<true> : GroupedDot<false>;
  TRIREME_LAUNCH(args, grid, kTileThreads, 0, kernel, rows.f32(), args.in[1].f32(), of_wave,
                 args.out[0].f32(), pool, in, columns, args.accumulate);
}

}  // namespace trireme
