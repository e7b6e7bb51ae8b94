// out += x, or out = x, at memory speed; both may be strided.
#include <cstring>

#include "kernels/device/cpu_util.h"
#include "kernels/device/simd.h"
#include "kernels/device/strided.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_accumulate(const KernelArgs& args);

namespace {

TRIREME_SIMD void AddRange(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

void Row(const float* x, float* y, const StridedDim& row, bool add) {
  if (row.from == 1 && row.to == 1) {
    if (add) return RunSimd<AddRange>(x, y, row.size);
    std::memmove(y, x, row.size * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < row.size; ++i) {
    const float value = x[i * row.from];
    y[i * row.to] = add ? y[i * row.to] + value : value;
  }
}

}  // namespace

void Cpu_accumulate(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0}) || !AreFloat32(args.out, {0})) return Reference_accumulate(args);
  const float* x = args.in[0].f32();
  float* y = args.out[0].f32();
  if (args.in[0].count() == 0) return;
  ForEachStridedRow(args.stream, args.in[0], args.out[0],
                    [&](int64_t from, int64_t to, const StridedDim& row) {
                      Row(x + from, y + to, row, args.accumulate);
                    });
}

}  // namespace trireme
