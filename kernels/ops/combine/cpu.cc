// Each token gathers its weighted rows in choice order.
#include <algorithm>
#include <vector>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_combine(const KernelArgs& args);

namespace {

TRIREME_SIMD void AddScaled(const float* x, float factor, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

}  // namespace

void Cpu_combine(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 2})) return Reference_combine(args);
  const float* rows = args.in[0].f32();
  const float* weights = args.in[2].f32();
  float* y = args.out[0].f32();
  const int64_t embed = args.in[0].sizes.back();
  const int64_t choices = args.in[2].sizes.back();
  const int64_t assignments = args.in[2].count();
  const std::vector<int32_t> slots =
      SlotOfAssignment(SourceOfWave(args.in[1], args.attrs.GetInt("wave")), assignments);
  ParallelRows(args.stream, assignments / choices, embed * choices, [&](int64_t token) {
    float* out = y + token * embed;
    if (!args.accumulate) std::fill_n(out, embed, 0.0f);
    for (int64_t i = token * choices; i < (token + 1) * choices; ++i) {
      if (slots[i] >= 0) RunSimd<AddScaled>(rows + slots[i] * embed, weights[i], out, embed);
    }
  });
}

}  // namespace trireme
