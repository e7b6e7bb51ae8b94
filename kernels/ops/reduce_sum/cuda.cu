// Sums in double. Last dims kept (a bias gradient): a block a strip of 32 columns, a warp a row at
// a time, the warps' sums added up in order. First dims kept: a warp a row. One number kept (a
// loss): one block. Each input byte is read once; narrow sums over many rows use few SMs.
#include "kernels/device/cuda/cuda.h"

namespace trireme {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarp;

template <typename Out>
__device__ __forceinline__ void Set(Out* out, double sum, bool add) {
  *out = static_cast<Out>(add ? static_cast<double>(*out) + sum : sum);
}

template <typename In, typename Out>
__global__ void __launch_bounds__(kThreads)
    SumAll(const In* __restrict__ x, Out* out, int64_t count, bool add) {
  __shared__ double shared[kWarps];
  double sum = 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += static_cast<double>(x[i]);
  sum = BlockSum(sum, shared);
  if (threadIdx.x == 0) Set(out, sum, add);
}

template <typename In, typename Out>
__global__ void __launch_bounds__(kThreads)
    SumRows(const In* __restrict__ x, Out* out, int64_t rows, int64_t columns, bool add) {
  __shared__ double shared[kWarps][kWarp];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kWarp + lane;
  double sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (int64_t row = warp; row < rows; row += kWarps) {
      sum += static_cast<double>(x[row * columns + column]);
    }
  }
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
  for (int w = 1; w < kWarps; ++w) sum += shared[w][lane];
  Set(out + column, sum, add);
}

template <typename In, typename Out>
__global__ void __launch_bounds__(kThreads)
    SumColumns(const In* __restrict__ x, Out* out, int64_t rows, int64_t columns, bool add) {
  const int lane = threadIdx.x % kWarp;
  for (int64_t row = GridIndex() / kWarp; row < rows; row += GridStride() / kWarp) {
    double sum = 0;
#pragma unroll 4
    for (int64_t c = lane; c < columns; c += kWarp) {
      sum += static_cast<double>(x[row * columns + c]);
    }
    sum = WarpSum(sum);
    if (lane == 0) Set(out + row, sum, add);
  }
}

template <typename In, typename Out>
void Launch(const KernelArgs& args) {
  const In* x = args.in[0].as<In>();
  Out* out = args.out[0].as<Out>();
  const int64_t kept = args.out[0].count();
  if (kept == 0) return;
  const int64_t summed = args.in[0].count() / kept;
  if (kept == 1) {
    auto* const kernel = SumAll<In, Out>;
    TRIREME_LAUNCH(args, 1, kThreads, 0, kernel, x, out, summed, args.accumulate);
  } else if (args.attrs.GetInt("leading", 0) != 0) {
    auto* const kernel = SumColumns<In, Out>;
    TRIREME_LAUNCH(args, BlocksFor(kept * kWarp, kThreads), kThreads, 0, kernel, x, out, kept,
                   summed, args.accumulate);
  } else {
    auto* const kernel = SumRows<In, Out>;
    const auto strips = static_cast<unsigned>(CeilDiv(kept, int64_t{kWarp}));
    TRIREME_LAUNCH(args, strips, kThreads, 0, kernel, x, out, summed, kept, args.accumulate);
  }
}

}  // namespace

void Cuda_reduce_sum(const KernelArgs& args) {
  const bool from_double = args.in[0].dtype == DType::kFloat64;
  const bool to_double = args.out[0].dtype == DType::kFloat64;
  CHECK(from_double || args.in[0].dtype == DType::kFloat32)
      << "reduce_sum of " << Name(args.in[0].dtype);
  CHECK(to_double || args.out[0].dtype == DType::kFloat32)
      << "reduce_sum to " << Name(args.out[0].dtype);
  if (from_double) return to_double ? Launch<double, double>(args) : Launch<double, float>(args);
  return to_double ? Launch<float, double>(args) : Launch<float, float>(args);
}

}  // namespace trireme
