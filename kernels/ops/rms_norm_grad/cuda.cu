// dx: a warp, or for long rows a block, a row; reads 8 bytes an element (again from cache) and
// writes 4. dw: a block 32 columns, all rows, so no memory for partial sums; it reads 8 bytes an
// element. Few columns (norms of heads) leave most of the device idle while dw is summed.
#include "kernels/device/cuda/rows.h"

namespace trireme {
namespace {

template <bool kBlock, bool kWeighted>
__global__ void __launch_bounds__(kRowThreads)
    RmsNormGrad(const float* __restrict__ dy, const float* __restrict__ x,
                const float* __restrict__ w, const float* __restrict__ inv_rms,
                float* __restrict__ dx, int64_t rows, int64_t n) {
  __shared__ float shared[kRowWarps];
  using Team = RowTeam<kBlock>;
  const int64_t row = Team::Row();
  if (row >= rows) return;  // a whole warp, where warps have rows
  dy += row * n;
  x += row * n;
  dx += row * n;
  float sum = 0;
  for (int64_t i = Team::Index(); i < n; i += Team::kSize) {
    sum += (kWeighted ? dy[i] * w[i] : dy[i]) * x[i];
  }
  sum = Team::Sum(sum, shared);
  const float s = inv_rms[row];
  const float along = s * s * sum / static_cast<float>(n);
  for (int64_t i = Team::Index(); i < n; i += Team::kSize) {
    dx[i] = s * ((kWeighted ? dy[i] * w[i] : dy[i]) - x[i] * along);
  }
}

__global__ void __launch_bounds__(kColumnThreads)
    RmsNormWeightGrad(const float* __restrict__ dy, const float* __restrict__ x,
                      const float* __restrict__ inv_rms, float* __restrict__ dw, int64_t rows,
                      int64_t n, bool accumulate) {
  __shared__ float shared[kWarp * (kWarp + 1)];
  SumColumns(
      rows, n,
      [&](int64_t row, int64_t column) {
        return dy[row * n + column] * x[row * n + column] * inv_rms[row];
      },
      shared, dw, accumulate);
}

template <bool kWeighted>
void LaunchInputGrad(const KernelArgs& args, const float* w, const float* inv_rms, int64_t rows,
                     int64_t n) {
  const bool is_long = n > kLongRow;
  auto* const kernel = is_long ? RmsNormGrad<true, kWeighted> : RmsNormGrad<false, kWeighted>;
  TRIREME_LAUNCH(args, BlocksForRows(rows, is_long), kRowThreads, 0, kernel, args.in[0].f32(),
                 args.in[1].f32(), w, inv_rms, args.out[0].f32(), rows, n);
}

}  // namespace

void Cuda_rms_norm_grad(const KernelArgs& args) {
  const Tensor& x = args.in[1];
  const int64_t n = x.sizes.back();
  if (n == 0) return;
  const int64_t rows = x.count() / n;
  const bool weighted = args.in.size() == 4;
  const float* inv_rms = args.in[weighted ? 3 : 2].f32();
  if (rows > 0 && weighted) LaunchInputGrad<true>(args, args.in[2].f32(), inv_rms, rows, n);
  if (rows > 0 && !weighted) LaunchInputGrad<false>(args, nullptr, inv_rms, rows, n);
  if (!weighted) return;
  TRIREME_LAUNCH(args, BlocksForColumns(n), kColumnThreads, 0, RmsNormWeightGrad, args.in[0].f32(),
                 x.f32(), inv_rms, args.out[1].f32(), rows, n, args.accumulate);
}

}  // namespace trireme
