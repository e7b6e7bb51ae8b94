// One pass over the slots: each scales its token's dy.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/simd.h"
#include "kernels/ops/dispatch/slots.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_combine_grad(const KernelArgs& args);

namespace {

TRIREME_SIMD void ScaleRow(const float* dy, float weight, float* drow, int64_t n) {
  for (int64_t i = 0; i < n; ++i) drow[i] = weight * dy[i];
}

}  // namespace

void Cpu_combine_grad(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 2})) return Reference_combine_grad(args);
  const float* dy = args.in[0].f32();
  const WaveSource source = SourceOfWave(args.in[1], args.attrs.GetInt("wave"));
  const float* weights = args.in[2].f32();
  float* drows = args.out[0].f32();
  const int64_t embed = args.in[0].sizes.back();
  const int64_t choices = args.in[2].sizes.back();
  ParallelRows(args.stream, source.slots, embed, [&](int64_t slot) {
    const int64_t i = source.assignments[slot];
    float* drow = drows + slot * embed;
    if (i < 0) {
      std::fill_n(drow, embed, 0.0f);
    } else {
      RunSimd<ScaleRow>(dy + i / choices * embed, weights[i], drow, embed);
    }
  });
}

}  // namespace trireme
