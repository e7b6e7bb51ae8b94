// A constant, at memory speed.
#include <algorithm>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_fill(const KernelArgs& args);

void Cpu_fill(const KernelArgs& args) {
  if (!AreFloat32(args.out, {0})) return Reference_fill(args);
  float* y = args.out[0].f32();
  const float value = static_cast<float>(args.attrs.GetDouble("value"));
  ParallelFor(args.stream, args.out[0].count(), kGrainElements,
              [&](int64_t i, int64_t end) { std::fill(y + i, y + end, value); });
}

}  // namespace trireme
