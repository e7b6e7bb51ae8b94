// Sum over the leading dims: rows are added up in chunks (a bias gradient); over the last ones, row
// by row; or everything is summed in double.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/row_chunks.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_reduce_sum(const KernelArgs& args);

namespace {

constexpr int64_t kBlock = 4096;

// Sum of consecutive elements, in double.
TRIREME_SIMD void BlockSum(const float* x, int64_t n, double* sum) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i];
  *sum = total;
}

// The sum of all elements, block by block.
void SumAll(const KernelArgs& args, int64_t count) {
  const float* x = args.in[0].f32();
  const int64_t blocks = CeilDiv(count, kBlock);
  double* sums = ThreadScratchOf<double>(ScratchSlot::kRows, blocks);
  ParallelRows(args.stream, blocks, kBlock, [&](int64_t block) {
    const int64_t begin = block * kBlock;
    RunSimd<BlockSum>(x + begin, std::min(kBlock, count - begin), sums + block);
  });
  double total = 0;
  for (int64_t block = 0; block < blocks; ++block) total += sums[block];
  if (args.out[0].dtype == DType::kFloat32) {
    float* out = args.out[0].f32();
    *out = static_cast<float>(args.accumulate ? *out + total : total);
  } else {
    double* out = args.out[0].f64();
    *out = args.accumulate ? *out + total : total;
  }
}

// out[c] = sum over rows.
void SumRows(const KernelArgs& args, int64_t rows, int64_t columns) {
  const float* x = args.in[0].f32();
  SumRowChunks(args.stream, rows, columns, columns, args.out[0].f32(), args.accumulate,
               [&](int64_t begin, int64_t end, float* partial) {
                 for (int64_t row = begin; row < end; ++row) {
                   RunSimd<AddInto>(x + row * columns, partial, columns);
                 }
               });
}

// Sum of one short row.
TRIREME_SIMD void RowSum(const float* x, int64_t n, float* sum, bool add) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i];
  *sum = add ? *sum + total : total;
}

// out[r] = sum over columns.
void SumColumns(const KernelArgs& args, int64_t rows, int64_t columns) {
  const float* x = args.in[0].f32();
  ParallelRows(args.stream, rows, columns, [&](int64_t row) {
    RunSimd<RowSum>(x + row * columns, columns, args.out[0].f32() + row, args.accumulate);
  });
}

}  // namespace

void Cpu_reduce_sum(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const int64_t kept = args.out[0].count();
  if (x.dtype != DType::kFloat32 || kept == 0) return Reference_reduce_sum(args);
  if (kept == 1) return SumAll(args, x.count());
  if (args.out[0].dtype != DType::kFloat32) return Reference_reduce_sum(args);
  if (args.attrs.GetInt("leading", 0) != 0) return SumColumns(args, kept, x.count() / kept);
  SumRows(args, x.count() / kept, kept);
}

}  // namespace trireme
