// One warp a kv head of a position, which takes the heads that it serves one after the other and
// so adds up dv in their order. Bounded by the bytes of dy, y and dx; v and dv stay in cache.
#include "kernels/device/cuda/rows.h"
#include "kernels/ops/xsa/cuda_heads.h"

namespace trireme {
namespace {

__global__ void __launch_bounds__(kRowThreads)
    XsaGrad(const float* __restrict__ dy, const float* __restrict__ y, const float* __restrict__ v,
            float* __restrict__ dx, float* __restrict__ dv, XsaHeads heads) {
  const int64_t kv_row = RowTeam<false>::Row();
  if (kv_row >= heads.rows * heads.kv_heads) return;
  const int lane = RowTeam<false>::Index();
  v += kv_row * heads.size;
  dv += kv_row * heads.size;
  float vv = 0;
  for (int64_t d = lane; d < heads.size; d += kWarp) {
    vv += v[d] * v[d];
    dv[d] = 0;
  }
  const float scale = 1 / (WarpSum(vv) + static_cast<float>(kXsaEps));
  // Local heads [begin, end) are served by this kv head.
  const int64_t kv_head = kv_row % heads.kv_heads + heads.kv_head_start;
  int64_t begin = kv_head * heads.query_group - heads.head_start;
  int64_t end = begin + heads.query_group;
  begin = begin < 0 ? 0 : begin;
  end = end < heads.heads ? end : heads.heads;
  for (int64_t head = begin; head < end; ++head) {
    const int64_t at = (kv_row / heads.kv_heads * heads.heads + head) * heads.size;
    float yv = 0, dyv = 0;
    for (int64_t d = lane; d < heads.size; d += kWarp) {
      yv += y[at + d] * v[d];
      dyv += dy[at + d] * v[d];
    }
    const float s = WarpSum(yv) * scale;
    const float r = WarpSum(dyv) * scale;
    for (int64_t d = lane; d < heads.size; d += kWarp) {
      const float grad = dy[at + d];
      dx[at + d] = grad - r * v[d];
      dv[d] -= s * grad + r * (y[at + d] - 2 * s * v[d]);
    }
  }
}

}  // namespace

void Cuda_xsa_grad(const KernelArgs& args) {
  if (args.in[2].count() == 0) return;
  const XsaHeads heads = MakeXsaHeads(args, /*y=*/1);
  TRIREME_LAUNCH(args, BlocksForRows(heads.rows * heads.kv_heads, false), kRowThreads, 0, XsaGrad,
                 args.in[0].f32(), args.in[1].f32(), args.in[2].f32(), args.out[0].f32(),
                 args.out[1].f32(), heads);
}

}  // namespace trireme
