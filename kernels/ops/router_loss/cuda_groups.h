// Sums over balance groups on the device: a block a chunk of tokens, then a block a group adds its
// chunks in order. Bounded by reading the logits once (again from cache).
#ifndef TRIREME_KERNELS_OPS_ROUTER_LOSS_CUDA_GROUPS_H_
#define TRIREME_KERNELS_OPS_ROUTER_LOSS_CUDA_GROUPS_H_

#include "kernels/ops/route/cuda_select.h"
#include "kernels/ops/route/routing.h"
#include "kernels/ops/router_loss/workspace.h"

namespace trireme {

// Where a record's first numbers stand; padding is in none of them. The losses are a group's only.
enum RouterSum : int {
  kSumTokens,
  kSumWeight,
  kSumSquaredLse,
  kSumEntropy,
  kGroupBalance,
  kGroupZ
};

struct RouterOperands {
  const float* logits;      // [tokens, experts]
  const int32_t* ids;       // [tokens, choices]
  const float* weights;     // [tokens]
  const int32_t* segments;  // [tokens]
  int64_t groups;
  int64_t group_tokens;
  int64_t chunks;  // of a group
  int64_t width;   // of a record
  int experts;
  int choices;
  bool sigmoid;

  // The record of a group, once its chunks are added up.
  __device__ const double* Group(const double* records, int64_t g) const {
    return records + g * chunks * width;
  }
};

// From inputs `logits`, `logits + 1` (ids), `weights`, `weights + 1` (segments).
inline RouterOperands MakeRouterOperands(const KernelArgs& args, int logits, int weights) {
  const Tensor& z = args.in[logits];
  const int64_t group = args.attrs.GetInt("group");
  CHECK_EQ(z.size(0) % group, 0) << "a shard of the batch must hold whole groups";
  return {.logits = z.f32(),
          .ids = args.in[logits + 1].i32(),
          .weights = args.in[weights].f32(),
          .segments = args.in[weights + 1].i32(),
          .groups = z.size(0) / group,
          .group_tokens = group * z.size(1),
          .chunks = RouterChunks(group * z.size(1)),
          .width = RouterRecord(z.size(2)),
          .experts = static_cast<int>(z.size(2)),
          .choices = static_cast<int>(args.in[logits + 1].size(2)),
          .sigmoid = ReadSigmoid(args.attrs)};
}

struct RouterTokenSums {
  float lse;
  float entropy;
};

// Adds the probabilities of a token to sum_p[0, experts), of which each lane has its own elements.
__device__ __forceinline__ RouterTokenSums AddRouterToken(const float* z, int experts, bool sigmoid,
                                                          float* sum_p) {
  const int lane = threadIdx.x % kWarp;
  const SoftmaxOf softmax = WarpSoftmax(z, experts);
  const float log_sum = -logf(softmax.scale);
  float scores = 0, moment = 0;
  for (int e = lane; e < experts; e += kWarp) {
    const float d = z[e] - softmax.max;
    const float p = sigmoid ? CudaSigmoid(z[e]) : expf(d);
    scores += p;
    if (p != 0) moment += p * (sigmoid ? logf(p) : d);
  }
  scores = WarpSum(scores);
  moment = WarpSum(moment);
  const float scale = 1 / scores;
  for (int e = lane; e < experts; e += kWarp) {
    sum_p[e] += scale * (sigmoid ? CudaSigmoid(z[e]) : expf(z[e] - softmax.max));
  }
  return {softmax.max + log_sum, logf(scores) - moment * scale};
}

// One chunk a block. `kLosses`: also what depends on the logits, else those sums are 0.
template <bool kLosses>
__global__ void __launch_bounds__(kRowThreads, 4)
    SumRouterChunks(RouterOperands in, double* __restrict__ records) {
  TRIREME_DYNAMIC_SHARED(float, sum_p);  // of each warp, then the counts
  __shared__ double of_warp[kRowWarps][4];
  const int warps = blockDim.x / kWarp;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  int* const counts = reinterpret_cast<int*>(sum_p + warps * in.experts);
  for (int i = threadIdx.x; i < warps * in.experts; i += blockDim.x) sum_p[i] = 0;
  for (int e = threadIdx.x; e < in.experts; e += blockDim.x) counts[e] = 0;
  __syncthreads();
  const int64_t group = blockIdx.x / in.chunks;
  const int64_t begin = group * in.group_tokens + blockIdx.x % in.chunks * kRouterChunkTokens;
  const int64_t group_end = (group + 1) * in.group_tokens;
  const int64_t end =
      begin + kRouterChunkTokens < group_end ? begin + kRouterChunkTokens : group_end;
  double sums[4] = {};
  for (int64_t token = begin + warp; token < end; token += warps) {
    if (in.segments[token] < 0) continue;
    sums[kSumTokens] += 1;
    sums[kSumWeight] += in.weights[token];
    for (int c = lane; c < in.choices; c += kWarp) {
      atomicAdd(&counts[in.ids[token * in.choices + c]], 1);
    }
    if constexpr (kLosses) {
      const RouterTokenSums of_token = AddRouterToken(in.logits + token * in.experts, in.experts,
                                                      in.sigmoid, sum_p + warp * in.experts);
      sums[kSumSquaredLse] += static_cast<double>(of_token.lse) * of_token.lse;
      sums[kSumEntropy] += of_token.entropy;
    }
  }
  if (lane == 0) {
#pragma unroll
    for (int i = 0; i < 4; ++i) of_warp[warp][i] = sums[i];
  }
  __syncthreads();
  double* const record = records + blockIdx.x * in.width;
  for (int e = threadIdx.x; e < in.experts; e += blockDim.x) {
    double sum = 0;
    for (int w = 0; w < warps; ++w) sum += sum_p[w * in.experts + e];
    record[kRouterHead + e] = counts[e];
    record[kRouterHead + in.experts + e] = sum;
  }
  if (threadIdx.x < 4) {
    double sum = 0;
    for (int w = 0; w < warps; ++w) sum += of_warp[w][threadIdx.x];
    record[threadIdx.x] = sum;
  }
}

// One group a block: its chunks' records into the first of them, and its losses.
static __global__ void __launch_bounds__(kRowThreads)
    SumRouterGroups(RouterOperands in, double* records) {
  __shared__ double shared[kRowWarps];
  double* const first = records + blockIdx.x * in.chunks * in.width;
  const auto add_chunks = [&](int64_t column) {
    double sum = 0;
    for (int64_t chunk = 0; chunk < in.chunks; ++chunk) sum += first[chunk * in.width + column];
    first[column] = sum;
    return sum;
  };
  if (threadIdx.x < 4) add_chunks(threadIdx.x);
  double products = 0;
  for (int e = threadIdx.x; e < in.experts; e += kRowThreads) {
    const double count = add_chunks(kRouterHead + e);
    products += count * add_chunks(kRouterHead + in.experts + e);
  }
  products = BlockSum(products, shared);
  if (threadIdx.x != 0) return;
  const double tokens = first[kSumTokens];
  const double assignments = tokens * in.choices;
  first[kGroupBalance] = tokens > 0 ? in.experts * products / (assignments * tokens) : 0.0;
  first[kGroupZ] = tokens > 0 ? first[kSumSquaredLse] / tokens : 0.0;
}

// Sums all groups in args.workspace: in.Group(result, g).
template <bool kLosses>
double* SumRouter(const KernelArgs& args, const RouterOperands& in) {
  CHECK(args.workspace != nullptr) << "no workspace for sums of " << in.groups << " groups";
  auto* const records = static_cast<double*>(args.workspace);
  const int64_t chunks = in.groups * in.chunks;
  if (chunks == 0) return records;
  // One row more than warps: the counts.
  const int warps = WarpsWithRows(2 * int64_t{in.experts}, "router sums");
  TRIREME_LAUNCH(args, static_cast<unsigned>(chunks), warps * kWarp,
                 (warps + 1) * in.experts * sizeof(float), SumRouterChunks<kLosses>, in, records);
  TRIREME_LAUNCH(args, static_cast<unsigned>(in.groups), kRowThreads, 0, SumRouterGroups, in,
                 records);
  return records;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_ROUTER_LOSS_CUDA_GROUPS_H_
