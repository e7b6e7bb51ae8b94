// Squares of float32 summed in double over fixed blocks, the blocks in order: the same for any
// number of threads.
#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_sum_squares(const KernelArgs& args);

namespace {

constexpr int64_t kBlock = 65536;

struct Stats {
  double squares = 0;
  double non_finite = 0;
};

TRIREME_SIMD void BlockStats(const float* x, int64_t n, Stats* stats) {
  double squares = 0;
  int32_t non_finite = 0;
#pragma omp simd reduction(+ : squares, non_finite)
  for (int64_t i = 0; i < n; ++i) {
    const bool finite = IsFiniteBits(x[i]);
    const double value = finite ? x[i] : 0.0f;
    squares += value * value;
    non_finite += finite ? 0 : 1;
  }
  *stats = {squares, static_cast<double>(non_finite)};
}

}  // namespace

void Cpu_sum_squares(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0})) return Reference_sum_squares(args);
  const float* x = args.in[0].f32();
  const bool contributes = args.attrs.GetInt("owner", 0) == 0;
  const int64_t count = contributes ? args.in[0].count() : 0;
  const int64_t blocks = CeilDiv(count, kBlock);
  Stats* stats = ThreadScratchOf<Stats>(ScratchSlot::kRows, blocks);
  ParallelFor(args.stream, blocks, 1, [&](int64_t block, int64_t) {
    const int64_t begin = block * kBlock;
    RunSimd<BlockStats>(x + begin, std::min(kBlock, count - begin), stats + block);
  });
  double* out = args.out[0].f64();
  if (!args.accumulate) out[0] = out[1] = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    out[0] += stats[block].squares;
    out[1] += stats[block].non_finite;
  }
}

}  // namespace trireme
