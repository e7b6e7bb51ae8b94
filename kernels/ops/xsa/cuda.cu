// One warp a head of a position. Bounded by the bytes of y, read and written; v and the second
// reading of y come from cache.
#include "kernels/device/cuda/rows.h"
#include "kernels/ops/xsa/cuda_heads.h"

namespace trireme {
namespace {

__global__ void __launch_bounds__(kRowThreads)
    Xsa(const float* __restrict__ y, const float* __restrict__ v, float* __restrict__ x,
        XsaHeads heads) {
  const int64_t row = RowTeam<false>::Row();
  if (row >= heads.rows * heads.heads) return;
  const int lane = RowTeam<false>::Index();
  y += row * heads.size;
  x += row * heads.size;
  v += (row / heads.heads * heads.kv_heads + heads.KvHead(row % heads.heads)) * heads.size;
  float yv = 0, vv = 0;
  for (int64_t d = lane; d < heads.size; d += kWarp) {
    yv += y[d] * v[d];
    vv += v[d] * v[d];
  }
  const float s = WarpSum(yv) / (WarpSum(vv) + static_cast<float>(kXsaEps));
  for (int64_t d = lane; d < heads.size; d += kWarp) x[d] = y[d] - s * v[d];
}

}  // namespace

void Cuda_xsa(const KernelArgs& args) {
  if (args.in[0].count() == 0) return;
  const XsaHeads heads = MakeXsaHeads(args, /*y=*/0);
  TRIREME_LAUNCH(args, BlocksForRows(heads.rows * heads.heads, false), kRowThreads, 0, Xsa,
                 args.in[0].f32(), args.in[1].f32(), args.out[0].f32(), heads);
}

}  // namespace trireme
