// A few float64 numbers: x on the owner, 0 elsewhere.
#include "kernels/device/cuda/cuda.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    Contribute(const double* x, double* y, int64_t count, bool contributes, bool add) {
  for (int64_t i = GridIndex(); i < count; i += GridStride()) {
    const double value = contributes ? x[i] : 0.0;
    y[i] = add ? y[i] + value : value;
  }
}

}  // namespace

void Cuda_contribute(const KernelArgs& args) {
  const int64_t count = args.in[0].count();
  const bool contributes = args.attrs.GetInt("owner", 0) == 0;
  if (count == 0) return;
  TRIREME_LAUNCH(args, BlocksFor(count, kThreads), kThreads, 0, Contribute, args.in[0].f64(),
                 args.out[0].f64(), count, contributes, args.accumulate);
}

}  // namespace trireme
