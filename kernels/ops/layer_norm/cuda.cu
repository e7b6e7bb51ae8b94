// A warp, or for long rows a block, a row: the mean, then the variance around it, then the result.
// Reads 4 bytes an element (twice more from cache) and writes 4.
#include "kernels/device/cuda/rows.h"

namespace trireme {
namespace {

template <bool kBlock>
__global__ void __launch_bounds__(kRowThreads)
    LayerNorm(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
              float* __restrict__ y, float* __restrict__ mean_of, float* __restrict__ inv_std_of,
              int64_t rows, int64_t n, float eps) {
  __shared__ float shared[kRowWarps];
  using Team = RowTeam<kBlock>;
  const int64_t row = Team::Row();
  if (row >= rows) return;  // a whole warp, where warps have rows
  x += row * n;
  y += row * n;
  float sum = 0;
  for (int64_t i = Team::Index(); i < n; i += Team::kSize) sum += x[i];
  const float mean = Team::Sum(sum, shared) / static_cast<float>(n);
  float squares = 0;
  for (int64_t i = Team::Index(); i < n; i += Team::kSize) {
    squares += (x[i] - mean) * (x[i] - mean);
  }
  const float inv_std = rsqrtf(Team::Sum(squares, shared) / static_cast<float>(n) + eps);
  for (int64_t i = Team::Index(); i < n; i += Team::kSize) {
    y[i] = (x[i] - mean) * inv_std * w[i] + b[i];
  }
  if (Team::Index() != 0) return;
  mean_of[row] = mean;
  inv_std_of[row] = inv_std;
}

}  // namespace

void Cuda_layer_norm(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  if (x.count() == 0) return;
  const int64_t n = x.sizes.back();
  const int64_t rows = x.count() / n;
  const bool is_long = n > kLongRow;
  auto* const kernel = is_long ? LayerNorm<true> : LayerNorm<false>;
  TRIREME_LAUNCH(args, BlocksForRows(rows, is_long), kRowThreads, 0, kernel, x.f32(),
                 args.in[1].f32(), args.in[2].f32(), args.out[0].f32(), args.out[1].f32(),
                 args.out[2].f32(), rows, n, static_cast<float>(args.attrs.GetDouble("eps")));
}

}  // namespace trireme
