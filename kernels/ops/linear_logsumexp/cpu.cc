// Running maximum and sum of exponentials over tiles of logits: the logits never exist whole.
#include <cmath>
#include <limits>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/linear_cross_entropy/cpu_tiles.h"

namespace trireme {

void Reference_linear_logsumexp(const KernelArgs& args);

namespace {

// sum = sum of exp(x - shift) goes with max = max(x, old max); sums of 512 are added up in double.
struct Running {
  float max = -std::numeric_limits<float>::infinity();
  double sum = 0;
};

TRIREME_SIMD void AddRow(const float* z, int64_t n, Running* running) {
  float max = running->max;
#pragma omp simd reduction(max : max)
  for (int64_t i = 0; i < n; ++i) max = z[i] > max ? z[i] : max;
  double sum = running->sum == 0 ? 0 : running->sum * std::exp(double{running->max} - max);
  for (int64_t begin = 0; begin < n; begin += 512) {
    const int64_t end = begin + 512 < n ? begin + 512 : n;
    float part = 0;
#pragma omp simd reduction(+ : part)
    for (int64_t i = begin; i < end; ++i) part += FastExp(z[i] - max);
    sum += part;
  }
  *running = {max, sum};
}

}  // namespace

void Cpu_linear_logsumexp(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_linear_logsumexp(args);
  const HeadShape shape = MakeHeadShape(args);
  const int32_t* targets = args.in[2].i32();
  float* target_logit = args.out[1].f32();
  Running* running = ThreadScratchOf<Running>(ScratchSlot::kRows, shape.tokens);
  for (int64_t t = 0; t < shape.tokens; ++t) {
    running[t] = Running{};
    target_logit[t] = 0;
  }
  ForEachHeadTile(args, shape, [&](const HeadTile& tile) {
    ParallelRows(args.stream, tile.tokens, tile.rows, [&](int64_t i) {
      const float* z = tile.logits + i * tile.rows;
      const int64_t token = tile.token + i;
      RunSimd<AddRow>(z, tile.rows, running + token);
      const int64_t target = targets[token] - shape.vocab_start - tile.row;
      if (target >= 0 && target < tile.rows) target_logit[token] = z[target];
    });
  });
  float* lse = args.out[0].f32();
  for (int64_t t = 0; t < shape.tokens; ++t) {
    lse[t] = static_cast<float>(running[t].max + std::log(running[t].sum));
  }
}

}  // namespace trireme
