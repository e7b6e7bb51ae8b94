// One pass over the slots: each scales its token's dy and takes the inner product of dy with its
// row.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_combine_grad(const KernelArgs& args);

namespace {

TRIREME_SIMD void GradRow(const float* dy, const float* row, float weight, float* drow,
                          float* dweight, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const float d = dy[i];
    sum += d * row[i];
    drow[i] = weight * d;
  }
  *dweight += sum;
}

}  // namespace

void Cpu_combine_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1, 3})) return Reference_combine_grad(args);
  const float* dy = args.in[0].f32();
  const float* rows = args.in[1].f32();
  const WaveSource source = SourceOfWave(args.in[2], args.attrs.GetInt("wave"));
  const float* weights = args.in[3].f32();
  float* drows = args.out[0].f32();
  float* dweights = args.out[1].f32();
  const int64_t embed = args.in[1].sizes.back();
  const int64_t choices = args.in[3].sizes.back();
  if (!args.accumulate) std::fill_n(dweights, args.in[3].count(), 0.0f);
  ParallelRows(args.stream, source.slots, embed, [&](int64_t slot) {
    const int64_t i = source.assignments[slot];
    float* drow = drows + slot * embed;
    if (i < 0) {
      std::fill_n(drow, embed, 0.0f);
      return;
    }
    RunSimd<GradRow>(dy + i / choices * embed, rows + slot * embed, weights[i], drow, dweights + i,
                     embed);
  });
}

}  // namespace trireme
