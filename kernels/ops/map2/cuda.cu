// exp_diff and add_log at memory speed: 12 bytes an element.
#include <cmath>

#include "kernels/device/cuda/elementwise.h"

namespace trireme {
namespace {

struct ExpDiff {
  __device__ __forceinline__ void operator()(const float* x, float* y) const {
    y[0] = x[0] == -INFINITY ? 0.0f : expf(x[0] - x[1]);
  }
};

struct AddLog {
  __device__ __forceinline__ void operator()(const float* x, float* y) const {
    y[0] = x[0] + logf(x[1]);
  }
};

}  // namespace

void Cuda_map2(const KernelArgs& args) {
  const float* a = args.in[0].f32();
  const float* b = args.in[1].f32();
  float* y = args.out[0].f32();
  const int64_t count = args.out[0].count();
  if (args.attrs.GetString("kind") == "exp_diff") {
    return Elementwise(args, ExpDiff{}, {a, b}, {y}, count);
  }
  Elementwise(args, AddLog{}, {a, b}, {y}, count);
}

}  // namespace trireme
