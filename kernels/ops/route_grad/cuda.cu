// One warp a token: what all experts get, then the chosen over it. Bounded by the bytes of the
// logits, read, and of their gradient, written.
#include "kernels/ops/route/cuda_select.h"
#include "kernels/ops/route/routing.h"

namespace trireme {
namespace {

struct Route {
  int64_t tokens;
  int experts;
  int k;
  bool sigmoid;
  bool of_chosen;  // weights are the softmax over the chosen alone
  bool renormalise;
  float total;
  float eps;
};

// dz of the chosen = total q (dw - sum q dw), q = softmax of the chosen.
__device__ __forceinline__ void GradOfChosen(const Route& route, const float* dw, const float* z,
                                             const int32_t* ids, float* dz) {
  const int lane = threadIdx.x % kWarp;
  for (int e = lane; e < route.experts; e += kWarp) dz[e] = 0;
  const SoftmaxOf q = WarpSoftmaxOfChosen(z, ids, route.k);
  float mean = 0;
  for (int c = lane; c < route.k; c += kWarp) mean += q(z[ids[c]]) * dw[c];
  mean = WarpSum(mean);
  __syncwarp();  // zeros before what replaces some of them
  for (int c = lane; c < route.k; c += kWarp) {
    dz[ids[c]] = route.total * q(z[ids[c]]) * (dw[c] - mean);
  }
}

__device__ __forceinline__ void GradOfScores(const Route& route, const float* dw, const float* z,
                                             const int32_t* ids, float* dz) {
  const int lane = threadIdx.x % kWarp;
  SoftmaxOf softmax = {};
  if (!route.sigmoid) softmax = WarpSoftmax(z, route.experts);
  const auto score = [&](float logit) {
    return route.sigmoid ? CudaSigmoid(logit) : softmax(logit);
  };
  float sum = 0, weighted = 0;
  for (int c = lane; c < route.k; c += kWarp) {
    const float p = score(z[ids[c]]);
    sum += p;
    weighted += dw[c] * p;
  }
  sum = WarpSum(sum);
  weighted = WarpSum(weighted);
  const float scale = route.renormalise ? 1 / (sum + route.eps) : 1.0f;
  const float shift = route.renormalise ? weighted * scale : 0.0f;
  // The gradient for the score of choice c.
  const auto grad = [&](int c) { return route.total * (dw[c] - shift) * scale; };
  float mean = 0;
  for (int c = lane; c < route.k; c += kWarp) mean += grad(c) * score(z[ids[c]]);
  mean = WarpSum(mean);
  for (int e = lane; e < route.experts; e += kWarp) {
    dz[e] = route.sigmoid ? 0.0f : -softmax(z[e]) * mean;
  }
  __syncwarp();  // what all get before what replaces some of it
  for (int c = lane; c < route.k; c += kWarp) {
    const float p = score(z[ids[c]]);
    dz[ids[c]] = route.sigmoid ? grad(c) * p * (1 - p) : p * (grad(c) - mean);
  }
}

__global__ void __launch_bounds__(kRowThreads)
    RouteGrad(const float* __restrict__ dw, const float* __restrict__ logits,
              const int32_t* __restrict__ ids, float* dlogits, Route route) {
  const int64_t token = RowTeam<false>::Row();
  if (token >= route.tokens) return;
  const float* z = logits + token * route.experts;
  float* dz = dlogits + token * route.experts;
  dw += token * route.k;
  ids += token * route.k;
  if (ids[0] < 0) {
    for (int e = RowTeam<false>::Index(); e < route.experts; e += kWarp) dz[e] = 0;
  } else if (route.of_chosen) {
    GradOfChosen(route, dw, z, ids, dz);
  } else {
    GradOfScores(route, dw, z, ids, dz);
  }
}

}  // namespace

void Cuda_route_grad(const KernelArgs& args) {
  const Tensor& logits = args.in[1];
  if (logits.count() == 0) return;
  const Weighing weighing = ReadWeighing(args.attrs);
  const int64_t experts = logits.sizes.back();
  const Route route = {.tokens = logits.count() / experts,
                       .experts = static_cast<int>(experts),
                       .k = static_cast<int>(args.in[0].sizes.back()),
                       .sigmoid = weighing.sigmoid,
                       .of_chosen = weighing.IsSoftmaxOfChosen(),
                       .renormalise = weighing.renormalise,
                       .total = static_cast<float>(weighing.total),
                       .eps = static_cast<float>(weighing.eps)};
  TRIREME_LAUNCH(args, BlocksForRows(route.tokens, false), kRowThreads, 0, RouteGrad,
                 args.in[0].f32(), logits.f32(), args.in[2].i32(), args.out[0].f32(), route);
}

}  // namespace trireme
