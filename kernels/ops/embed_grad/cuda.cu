// Blocks take 256 rows of the table by 256 columns, look through all ids in order and add the rows
// of dy that are theirs: no atomics, every sum in the order of the tokens. Ids are read (from
// cache) once a block: tokens * vocabulary / 256 * embed / 256 of 4 bytes; the rest is the table
// written (read where it accumulates only as far as there are ids) and dy read once. If all tokens
// have one id, a column of blocks does all the work, 8 rows in flight.
#include "kernels/device/cuda/cuda.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 256;
constexpr int kBatch = 8;  // loads in flight

// Those of up to kThreads tokens whose rows this block has, in order.
struct Matches {
  int token[kThreads];  // from the first of them
  int row[kThreads];    // of the block's rows
  int of_warp[kThreads / kWarp];
};

// Lists the tokens of a chunk; `row` is that of this thread's token, -1: none here. Returns how
// many there are.
__device__ __forceinline__ int ListMatches(int row, Matches& matches) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const unsigned here = __ballot_sync(kAllLanes, row >= 0);
  if (lane == 0) matches.of_warp[warp] = __popc(here);
  __syncthreads();
  int before = __popc(here & ((1u << lane) - 1));
  int total = 0;
  for (int w = 0; w < kThreads / kWarp; ++w) {
    if (w < warp) before += matches.of_warp[w];
    total += matches.of_warp[w];
  }
  if (row >= 0) {
    matches.token[before] = static_cast<int>(threadIdx.x);
    matches.row[before] = row;
  }
  __syncthreads();
  return total;
}

__global__ void __launch_bounds__(kThreads)
    EmbedGrad(const float* __restrict__ dy, const int32_t* __restrict__ ids,
              float* __restrict__ dtable, int64_t first_row, int64_t vocab, int64_t width,
              int64_t tokens, bool accumulate) {
  __shared__ Matches matches;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * kRows;
  const int64_t rows = vocab - first < kRows ? vocab - first : kRows;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const bool has_column = column < width;
  float* const out = dtable + first * width + column;
  if (!accumulate && has_column) {
    for (int64_t r = 0; r < rows; ++r) out[r * width] = 0;
  }
  int current = -1;
  float sum = 0;
  for (int64_t begin = 0; begin < tokens; begin += kThreads) {
    const int64_t token = begin + threadIdx.x;
    const int64_t row = token < tokens ? ids[token] - first_row - first : -1;
    const int count = ListMatches(row >= 0 && row < rows ? static_cast<int>(row) : -1, matches);
    if (!has_column) continue;
    for (int m = 0; m < count; m += kBatch) {
      float value[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        value[j] = m + j < count ? dy[(begin + matches.token[m + j]) * width + column] : 0.0f;
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (m + j >= count) break;
        if (matches.row[m + j] != current) {
          if (current >= 0) out[current * width] = sum;
          current = matches.row[m + j];
          sum = out[current * width];
        }
        sum += value[j];
      }
    }
  }
  if (has_column && current >= 0) out[current * width] = sum;
}

}  // namespace

void Cuda_embed_grad(const KernelArgs& args) {
  const Tensor& dtable = args.out[0];
  if (dtable.count() == 0) return;
  const int64_t width = dtable.size(1);
  const dim3 grid(static_cast<unsigned>((width + kThreads - 1) / kThreads),
                  static_cast<unsigned>((dtable.size(0) + kRows - 1) / kRows));
  TRIREME_LAUNCH(args, grid, kThreads, 0, EmbedGrad, args.in[0].f32(), args.in[1].i32(),
                 dtable.f32(), args.attrs.GetInt("vocab_start", 0), dtable.size(0), width,
                 args.in[1].count(), args.accumulate);
}

}  // namespace trireme
