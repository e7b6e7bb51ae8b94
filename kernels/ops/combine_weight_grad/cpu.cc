// One pass over the slots: an assignment is in at most one.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_combine_weight_grad(const KernelArgs& args);

namespace {

TRIREME_SIMD void AddProduct(const float* dy, const float* row, float* dweight, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += dy[i] * row[i];
  *dweight += sum;
}

}  // namespace

void Cpu_combine_weight_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1})) return Reference_combine_weight_grad(args);
  const float* dy = args.in[0].f32();
  const float* rows = args.in[1].f32();
  const WaveSource source = SourceOfWave(args.in[2], args.attrs.GetInt("wave"));
  float* dweights = args.out[0].f32();
  const int64_t embed = args.in[1].sizes.back();
  const int64_t choices = args.in[3].sizes.back();
  if (!args.accumulate) std::fill_n(dweights, args.out[0].count(), 0.0f);
  ParallelRows(args.stream, source.slots, embed, [&](int64_t slot) {
    const int64_t i = source.assignments[slot];
    if (i < 0) return;
    RunSimd<AddProduct>(dy + i / choices * embed, rows + slot * embed, dweights + i, embed);
  });
}

}  // namespace trireme
