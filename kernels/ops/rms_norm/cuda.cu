// One block a row: its threads add up the squares, then each scales its elements.
#include "kernels/device/cuda/cuda.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <bool kWeighted>
__global__ void __launch_bounds__(kThreads)
    RmsNorm(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
            float* __restrict__ inv_rms, int64_t n, float eps) {
  __shared__ float shared[kThreads / kWarp];
  const int64_t row = blockIdx.x;
  x += row * n;
  y += row * n;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) squares += x[i] * x[i];
  squares = BlockSum(squares, shared);
  const float inv = rsqrtf(squares / static_cast<float>(n) + eps);
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    y[i] = kWeighted ? x[i] * inv * w[i] : x[i] * inv;
  }
  if (threadIdx.x == 0) inv_rms[row] = inv;
}

}  // namespace

void Cuda_rms_norm(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const int64_t n = x.sizes.back();
  const auto rows = static_cast<unsigned>(x.count() / n);
  const auto eps = static_cast<float>(args.attrs.GetDouble("eps"));
  if (rows == 0) return;
  const float* from = x.f32();
  float* y = args.out[0].f32();
  float* inv_rms = args.out[1].f32();
  if (args.in.size() == 2) {
    const float* w = args.in[1].f32();
    TRIREME_LAUNCH(args, rows, kThreads, 0, RmsNorm<true>, from, w, y, inv_rms, n, eps);
  } else {
    TRIREME_LAUNCH(args, rows, kThreads, 0, RmsNorm<false>, from, nullptr, y, inv_rms, n, eps);
  }
}

}  // namespace trireme
