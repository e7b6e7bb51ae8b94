// Two partial attentions merged, row by row. The outputs may be the memory of either side.
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd_math.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_softmax_merge(const KernelArgs& args);

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

TRIREME_SIMD void Mix(const float* o1, const float* o2, float* o, int64_t n, float weight1,
                      float weight2) {
#pragma omp simd
  for (int64_t d = 0; d < n; ++d) o[d] = o1[d] * weight1 + o2[d] * weight2;
}

// Returns lse. A side that saw no key is not read, so the other is kept bit for bit.
float MergeRow(const float* o1, float lse1, const float* o2, float lse2, float* o, int64_t n) {
  if (lse1 == kNothing && lse2 == kNothing) {
    std::memset(o, 0, n * sizeof(float));
    return kNothing;
  }
  if (lse1 == kNothing || lse2 == kNothing) {
    std::memmove(o, lse2 == kNothing ? o1 : o2, n * sizeof(float));
    return lse2 == kNothing ? lse1 : lse2;
  }
  const float high = lse1 > lse2 ? lse1 : lse2;
  const float weight1 = std::exp(lse1 - high);
  const float weight2 = std::exp(lse2 - high);
  const float sum = weight1 + weight2;
  RunSimd<Mix>(o1, o2, o, n, weight1 / sum, weight2 / sum);
  return high + std::log(sum);
}

}  // namespace

void Cpu_softmax_merge(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 2, 3})) return Reference_softmax_merge(args);
  const float* o1 = args.in[0].f32();
  const float* lse1 = args.in[1].f32();
  const float* o2 = args.in[2].f32();
  const float* lse2 = args.in[3].f32();
  float* o = args.out[0].f32();
  float* lse = args.out[1].f32();
  const auto [rows, size] = RowsOf(args.in[0]);
  const int64_t n = size;  // a name that a lambda can capture
  ParallelRows(args.stream, rows, n, [&](int64_t row) {
    const int64_t at = row * n;
    lse[row] = MergeRow(o1 + at, lse1[row], o2 + at, lse2[row], o + at, n);
  });
}

}  // namespace trireme
