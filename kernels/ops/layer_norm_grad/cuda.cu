// dx: a warp, or for long rows a block, a row; reads 8 bytes an element (again from cache) and
// writes 4. dw and db: a block 32 columns, all rows, so no memory for partial sums; dy is read
// twice, x once.
#include "kernels/device/cuda/rows.h"

namespace trireme {
namespace {

template <bool kBlock>
__global__ void __launch_bounds__(kRowThreads)
    LayerNormGrad(const float* __restrict__ dy, const float* __restrict__ x,
                  const float* __restrict__ w, const float* __restrict__ mean_of,
                  const float* __restrict__ inv_std, float* __restrict__ dx, int64_t rows,
                  int64_t n) {
  __shared__ float shared[kRowWarps];
  using Team = RowTeam<kBlock>;
  const int64_t row = Team::Row();
  if (row >= rows) return;  // a whole warp, where warps have rows
  dy += row * n;
  x += row * n;
  dx += row * n;
  const float mean = mean_of[row];
  const float s = inv_std[row];
  float sum = 0, along = 0;
  for (int64_t i = Team::Index(); i < n; i += Team::kSize) {
    const float h = dy[i] * w[i];
    sum += h;
    along += h * ((x[i] - mean) * s);
  }
  sum = Team::Sum(sum, shared) / static_cast<float>(n);
  along = Team::Sum(along, shared) / static_cast<float>(n);
  for (int64_t i = Team::Index(); i < n; i += Team::kSize) {
    dx[i] = s * (dy[i] * w[i] - sum - (x[i] - mean) * s * along);
  }
}

__global__ void __launch_bounds__(kColumnThreads)
    LayerNormWeightGrads(const float* __restrict__ dy, const float* __restrict__ x,
                         const float* __restrict__ mean, const float* __restrict__ inv_std,
                         float* __restrict__ dw, float* __restrict__ db, int64_t rows, int64_t n,
                         bool accumulate) {
  __shared__ float shared[kWarp * (kWarp + 1)];
  SumColumns(
      rows, n,
      [&](int64_t row, int64_t column) {
        const int64_t i = row * n + column;
        return dy[i] * ((x[i] - mean[row]) * inv_std[row]);
      },
      shared, dw, accumulate);
  SumColumns(
      rows, n, [&](int64_t row, int64_t column) { return dy[row * n + column]; }, shared, db,
      accumulate);
}

}  // namespace

void Cuda_layer_norm_grad(const KernelArgs& args) {
  const Tensor& x = args.in[1];
  const int64_t n = x.sizes.back();
  if (n == 0) return;
  const int64_t rows = x.count() / n;
  const float* dy = args.in[0].f32();
  const float* mean = args.in[3].f32();
  const float* inv_std = args.in[4].f32();
  if (rows > 0) {
    const bool is_long = n > kLongRow;
    auto* const kernel = is_long ? LayerNormGrad<true> : LayerNormGrad<false>;
    TRIREME_LAUNCH(args, BlocksForRows(rows, is_long), kRowThreads, 0, kernel, dy, x.f32(),
                   args.in[2].f32(), mean, inv_std, args.out[0].f32(), rows, n);
  }
  TRIREME_LAUNCH(args, BlocksForColumns(n), kColumnThreads, 0, LayerNormWeightGrads, dy, x.f32(),
                 mean, inv_std, args.out[1].f32(), args.out[2].f32(), rows, n, args.accumulate);
}

}  // namespace trireme
