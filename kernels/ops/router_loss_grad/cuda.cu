// The counts of cuda_groups.h, then one warp a token. Bounded by the bytes of the logits, read, and
// of their gradient, written.
#include "kernels/ops/router_loss/cuda_groups.h"

namespace trireme {
namespace {

__global__ void __launch_bounds__(kRowThreads)
    RouterLossGrad(RouterOperands in, const double* __restrict__ records,
                   const double* __restrict__ dloss, float balance, float z_weight,
                   float* __restrict__ dlogits) {
  const int64_t token = RowTeam<false>::Row();
  if (token >= in.groups * in.group_tokens) return;
  const int lane = RowTeam<false>::Index();
  const double* group = in.Group(records, token / in.group_tokens);
  float* dz = dlogits + token * in.experts;
  if (in.segments[token] < 0 || group[kSumWeight] == 0) {
    for (int e = lane; e < in.experts; e += kWarp) dz[e] = 0;
    return;
  }
  const float* z = in.logits + token * in.experts;
  const double tokens = group[kSumTokens];
  const auto factor = static_cast<float>(*dloss * group[kSumWeight] / tokens);
  const auto load_factor = static_cast<float>(in.experts / (tokens * in.choices));
  const SoftmaxOf softmax = WarpSoftmax(z, in.experts);
  const float lse = softmax.max - logf(softmax.scale);
  const auto load = [&](int e) { return load_factor * static_cast<float>(group[kRouterHead + e]); };
  const auto score = [&](int e) { return in.sigmoid ? CudaSigmoid(z[e]) : softmax(z[e]); };
  float scores = 0, mean = 0;
  for (int e = lane; e < in.experts; e += kWarp) {
    scores += score(e);
    mean += load(e) * score(e);
  }
  const float scale = in.sigmoid ? 1 / WarpSum(scores) : 1.0f;
  mean = WarpSum(mean) * scale;
  for (int e = lane; e < in.experts; e += kWarp) {
    float d = balance * score(e) * scale * (load(e) - mean);
    if (in.sigmoid) d *= 1 - score(e);
    dz[e] = factor * (d + z_weight * 2 * lse * softmax(z[e]));
  }
}

}  // namespace

void Cuda_router_loss_grad(const KernelArgs& args) {
  const RouterOperands in = MakeRouterOperands(args, 1, 3);
  if (args.out[0].count() == 0) return;
  const double* records = SumRouter<false>(args, in);
  TRIREME_LAUNCH(args, BlocksForRows(in.groups * in.group_tokens, false), kRowThreads, 0,
                 RouterLossGrad, in, records, args.in[0].f64(),
                 static_cast<float>(args.attrs.GetDouble("balance")),
                 static_cast<float>(args.attrs.GetDouble("z")), args.out[0].f32());
}

}  // namespace trireme
