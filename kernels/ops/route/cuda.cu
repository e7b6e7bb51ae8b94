// One warp a token: its scores as integers in shared memory, then a maximum a choice. Reads 4 bytes
// an expert; k passes over E / 32 numbers a lane are what takes its time.
#include "kernels/ops/route/cuda_select.h"
#include "kernels/ops/route/routing.h"

namespace trireme {
namespace {

struct Route {
  int64_t tokens;
  int experts;
  int k;
  bool bias_to_scores;
  bool sigmoid;
  bool of_chosen;  // weights are the softmax over the chosen alone
  bool renormalise;
  float total;
  float eps;
};

// Writes the weights of the chosen.
__device__ __forceinline__ void Weigh(const Route& route, const float* z, SoftmaxOf softmax,
                                      const int32_t* ids, float* weights) {
  const int lane = threadIdx.x % kWarp;
  if (route.of_chosen) softmax = WarpSoftmaxOfChosen(z, ids, route.k);
  const auto score = [&](int c) {
    return route.sigmoid ? CudaSigmoid(z[ids[c]]) : softmax(z[ids[c]]);
  };
  float divisor = 1;
  if (route.renormalise && !route.of_chosen) {
    float sum = 0;
    for (int c = lane; c < route.k; c += kWarp) sum += score(c);
    divisor = WarpSum(sum) + route.eps;
  }
  for (int c = lane; c < route.k; c += kWarp) weights[c] = route.total * score(c) / divisor;
}

__global__ void __launch_bounds__(kRowThreads)
    RouteTokens(const float* __restrict__ logits, const float* __restrict__ bias,
                const int32_t* __restrict__ segments, int32_t* ids, float* __restrict__ weights,
                Route route) {
  TRIREME_DYNAMIC_SHARED(int32_t, all_keys);
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int64_t token = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + warp;
  if (token >= route.tokens) return;
  const float* z = logits + token * route.experts;
  ids += token * route.k;
  weights += token * route.k;
  if (segments[token] < 0) {
    for (int c = lane; c < route.k; c += kWarp) {
      ids[c] = -1;
      weights[c] = 0;
    }
    return;
  }
  int32_t* const keys = all_keys + warp * route.experts;
  SoftmaxOf softmax = {};
  if (!route.sigmoid && (route.bias_to_scores || !route.of_chosen)) {
    softmax = WarpSoftmax(z, route.experts);
  }
  for (int e = lane; e < route.experts; e += kWarp) {
    float s = z[e];
    if (route.bias_to_scores) s = route.sigmoid ? CudaSigmoid(s) : softmax(s);
    if (bias != nullptr) s += bias[e];
    keys[e] = OrderKey(s);
  }
  for (int c = 0; c < route.k; ++c) {
    const Choice choice = TakeLargest(keys, route.experts);
    if (lane == 0) ids[c] = choice.id;
  }
  __syncwarp();  // ids are read by other lanes
  Weigh(route, z, softmax, ids, weights);
}

}  // namespace

void Cuda_route(const KernelArgs& args) {
  const Tensor& logits = args.in[0];
  if (logits.count() == 0) return;
  const BiasTo bias_to = ReadBiasTo(args.attrs);
  const Weighing weighing = ReadWeighing(args.attrs);
  const int64_t experts = logits.sizes.back();
  const Route route = {.tokens = logits.count() / experts,
                       .experts = static_cast<int>(experts),
                       .k = static_cast<int>(args.attrs.GetInt("k")),
                       .bias_to_scores = bias_to == BiasTo::kScores,
                       .sigmoid = weighing.sigmoid,
                       .of_chosen = weighing.IsSoftmaxOfChosen(),
                       .renormalise = weighing.renormalise,
                       .total = static_cast<float>(weighing.total),
                       .eps = static_cast<float>(weighing.eps)};
  const int warps = WarpsWithRows(experts, "route");
  const float* bias = bias_to == BiasTo::kNone ? nullptr : args.in[1].f32();
  TRIREME_LAUNCH(args, static_cast<unsigned>((route.tokens + warps - 1) / warps), warps * kWarp,
                 warps * experts * sizeof(int32_t), RouteTokens, logits.f32(), bias,
                 args.in.back().i32(), args.out[0].i32(), args.out[1].f32(), route);
}

}  // namespace trireme
