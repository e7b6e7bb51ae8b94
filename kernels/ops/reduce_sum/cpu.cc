// Two fast shapes: the kept dims are x's last ones (a bias gradient: rows are added up) or its
// first ones (each row is summed). Anything else goes to the reference.
#include <algorithm>
#include <vector>

#include "kernels/device/cpu_util.h"
#include "kernels/device/row_chunks.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reduce_sum/kept.h"

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

void AddOrSet(const Tensor& out, int64_t i, double value, bool add) {
  if (out.dtype == DType::kFloat32) {
    float* y = out.f32() + i;
    *y = static_cast<float>(add ? *y + value : value);
  } else {
    double* y = out.f64() + i;
    *y = add ? *y + value : value;
  }
}

// out[r] = sum of row r.
void SumEachRow(const KernelArgs& args, int64_t rows, int64_t columns) {
  const float* x = args.in[0].f32();
  ParallelRows(args.stream, rows, columns, [&](int64_t row) {
    double sum = 0;
    RunSimd<BlockSum>(x + row * columns, columns, &sum);
    AddOrSet(args.out[0], row, sum, args.accumulate);
  });
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
  AddOrSet(args.out[0], 0, total, args.accumulate);
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

}  // namespace

void Cpu_reduce_sum(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const std::vector<int> kept = KeptDims(args.attrs, x.rank());
  const int num_kept = static_cast<int>(kept.size());
  const int64_t kept_count = args.out[0].count();
  if (x.dtype != DType::kFloat32 || kept_count == 0) return Reference_reduce_sum(args);
  const int64_t reduced = x.count() / kept_count;
  const bool leading = num_kept == 0 || kept.back() == num_kept - 1;
  const bool trailing = num_kept == 0 || kept.front() == x.rank() - num_kept;
  if (kept_count == 1) {
    SumAll(args, x.count());
  } else if (leading) {
    SumEachRow(args, kept_count, reduced);
  } else if (trailing && args.out[0].dtype == DType::kFloat32) {
    SumRows(args, reduced, kept_count);
  } else {
    Reference_reduce_sum(args);
  }
}

}  // namespace trireme
