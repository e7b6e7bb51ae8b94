// The sums of cuda_groups.h. Quantiles: alpha with a warp a token, as in route; beta with a block
// for each group and 32 experts, a radix selection by 8 bits at a time, so the logits are read six
// times, mostly from cache. Then one block adds up the groups.
#include "kernels/ops/router_loss/cuda_groups.h"
#include "kernels/ops/router_stats/layout.h"

namespace trireme {
namespace {

// alpha[token] = the `rank`-th largest of z + bias, for valid tokens.
__global__ void __launch_bounds__(kRowThreads)
    ComputeAlphas(RouterOperands in, const float* __restrict__ bias, int rank,
                  float* __restrict__ alpha) {
  TRIREME_DYNAMIC_SHARED(int32_t, all_keys);
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int64_t token = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + warp;
  if (token >= in.groups * in.group_tokens || in.segments[token] < 0) return;
  int32_t* const keys = all_keys + warp * in.experts;
  for (int e = lane; e < in.experts; e += kWarp) {
    keys[e] = OrderKey(in.logits[token * in.experts + e] + bias[e]);
  }
  Choice choice = {};
  for (int c = 0; c < rank; ++c) choice = TakeLargest(keys, in.experts);
  if (lane == 0) alpha[token] = FromOrderKey(choice.key);
}

constexpr int kDigits = 256;

struct Histogram {
  int of[kDigits][kWarp];  // by digit, expert
  int of_part[kRowWarps][kWarp];
  unsigned prefix[kWarp];  // the digits found, of each expert
  int rank[kWarp];         // among those with the prefix, from 1
};

// Finds the digit of this warp's lane in which its rank-th largest is: the parts of 32 digits are
// added up by a warp each, then the first warp goes down them.
__device__ __forceinline__ void FindDigit(Histogram& histogram) {
  constexpr int kPart = kDigits / kRowWarps;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  int sum = 0;
  for (int d = 0; d < kPart; ++d) sum += histogram.of[warp * kPart + d][lane];
  histogram.of_part[warp][lane] = sum;
  __syncthreads();
  if (warp == 0) {
    int rank = histogram.rank[lane];
    int part = kRowWarps - 1;
    for (; part > 0 && rank > histogram.of_part[part][lane]; --part) {
      rank -= histogram.of_part[part][lane];
    }
    int digit = part * kPart + kPart - 1;
    for (; digit > part * kPart && rank > histogram.of[digit][lane]; --digit) {
      rank -= histogram.of[digit][lane];
    }
    histogram.rank[lane] = rank;
    histogram.prefix[lane] = histogram.prefix[lane] << 8 | static_cast<unsigned>(digit);
  }
  __syncthreads();
}

// betas[group, expert] = the n-th largest over the group's valid tokens of z - alpha, n = max(1,
// tokens k div experts). Lane = expert.
__global__ void __launch_bounds__(kRowThreads)
    ComputeBetas(RouterOperands in, const double* __restrict__ records,
                 const float* __restrict__ alpha, int64_t k, float* __restrict__ betas) {
  __shared__ Histogram histogram;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int64_t group = blockIdx.y;
  const int expert = static_cast<int>(blockIdx.x) * kWarp + lane;
  const auto tokens = static_cast<int64_t>(in.Group(records, group)[kSumTokens]);
  if (tokens == 0) return;  // the whole block
  const int64_t rank = tokens * k / in.experts;
  if (warp == 0) {
    histogram.prefix[lane] = 0;
    histogram.rank[lane] = static_cast<int>(rank > 1 ? rank : 1);
  }
  const int64_t begin = group * in.group_tokens;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = warp; i < kDigits; i += kRowWarps) histogram.of[i][lane] = 0;
    __syncthreads();
    for (int64_t token = begin + warp; token < begin + in.group_tokens; token += kRowWarps) {
      if (in.segments[token] < 0 || expert >= in.experts) continue;
      const int32_t key = OrderKey(in.logits[token * in.experts + expert] - alpha[token]);
      const unsigned ordered = static_cast<unsigned>(key) ^ 0x80000000u;
      // Of 64 bits, so that nothing is left after a shift by 32.
      const auto above = static_cast<unsigned>(static_cast<uint64_t>(ordered) >> (shift + 8));
      if (above == histogram.prefix[lane]) {
        atomicAdd(&histogram.of[ordered >> shift & (kDigits - 1)][lane], 1);
      }
    }
    __syncthreads();
    FindDigit(histogram);
  }
  if (warp == 0 && expert < in.experts) {
    betas[group * in.experts + expert] =
        FromOrderKey(static_cast<int32_t>(histogram.prefix[lane] ^ 0x80000000u));
  }
}

// One block. `betas` is null where there are none.
__global__ void __launch_bounds__(kRowThreads)
    AddGroups(RouterOperands in, const double* __restrict__ records,
              const float* __restrict__ betas, double* __restrict__ stats,
              double* __restrict__ sums_of_betas) {
  __shared__ double shared[kRowWarps];
  double tokens = 0, entropy = 0, balance = 0, z = 0;
  for (int64_t g = threadIdx.x; g < in.groups; g += kRowThreads) {
    const double* group = in.Group(records, g);
    tokens += group[kSumTokens];
    entropy += group[kSumEntropy];
    if (group[kSumWeight] == 0) continue;
    balance += group[kSumWeight] * group[kGroupBalance];
    z += group[kSumWeight] * group[kGroupZ];
  }
  tokens = BlockSum(tokens, shared);
  entropy = BlockSum(entropy, shared);
  balance = BlockSum(balance, shared);
  z = BlockSum(z, shared);
  if (threadIdx.x == 0) {
    stats[kRouterTokens] = tokens;
    stats[kRouterPadding] = static_cast<double>(in.groups * in.group_tokens) - tokens;
    stats[kRouterEntropy] = entropy;
    stats[kRouterBalanceLoss] = balance;
    stats[kRouterZLoss] = z;
    stats[kRouterSenderDrops] = 0;
    stats[kRouterReceiverDrops] = 0;
    stats[kRouterExtraWaves] = 0;
  }
  for (int e = threadIdx.x; e < in.experts; e += kRowThreads) {
    double load = 0, beta = 0;
    for (int64_t g = 0; g < in.groups; ++g) {
      const double* group = in.Group(records, g);
      load += group[kRouterHead + e];
      if (betas != nullptr && group[kSumTokens] > 0) {
        beta += group[kSumTokens] * betas[g * in.experts + e];
      }
    }
    stats[kRouterLoads + e] = load;
    sums_of_betas[e] = beta;
  }
}

// Quantiles behind the records in the workspace; returns [groups, experts].
const float* LaunchBetas(const KernelArgs& args, const RouterOperands& in, const double* records) {
  const int64_t tokens = in.groups * in.group_tokens;
  auto* const alpha = reinterpret_cast<float*>(
      static_cast<char*>(args.workspace) + RouterSumsBytes(in.groups, in.group_tokens, in.experts));
  float* const betas = alpha + tokens;
  if (tokens == 0) return betas;
  const int64_t k = args.attrs.GetInt("k");
  const int rank = static_cast<int>(k + 1 < in.experts ? k + 1 : in.experts);
  const int warps = WarpsWithRows(in.experts, "router_stats");
  TRIREME_LAUNCH(args, static_cast<unsigned>((tokens + warps - 1) / warps), warps * kWarp,
                 warps * in.experts * sizeof(int32_t), ComputeAlphas, in, args.in[2].f32(), rank,
                 alpha);
  const dim3 grid((in.experts + kWarp - 1) / kWarp, static_cast<unsigned>(in.groups));
  TRIREME_LAUNCH(args, grid, kRowThreads, 0, ComputeBetas, in, records, alpha, k, betas);
  return betas;
}

}  // namespace

void Cuda_router_stats(const KernelArgs& args) {
  const bool has_bias = ReadBiasTo(args.attrs) == BiasTo::kLogits;
  const RouterOperands in = MakeRouterOperands(args, 0, has_bias ? 3 : 2);
  const double* records = SumRouter<true>(args, in);
  const float* betas = has_bias ? LaunchBetas(args, in, records) : nullptr;
  TRIREME_LAUNCH(args, 1, kRowThreads, 0, AddGroups, in, records, betas, args.out[0].f64(),
                 args.out[0].f64() + RouterBetas(in.experts));
}

}  // namespace trireme
