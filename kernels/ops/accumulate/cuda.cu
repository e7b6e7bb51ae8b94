// out += x, or out = x, both strided: 12 or 8 bytes an element, in groups of 16 bytes where rows
// are contiguous on both sides.
#include "kernels/device/cuda/strided_walk.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <typename T, int kWidth, bool kAdd>
__global__ void __launch_bounds__(kThreads) Accumulate(const T* x, T* y, StridedWalk walk) {
  for (int64_t i = GridIndex(); i < walk.count; i += GridStride()) {
    int64_t from, to;
    walk.Find(i, &from, &to);
    Wide<T, kWidth> value = LoadWide<kWidth>(x, from);
    if constexpr (kAdd) {
      const Wide<T, kWidth> old = LoadWide<kWidth>(y, to);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) value.at[k] += old.at[k];
    }
    StoreWide<kWidth>(y, to, value);
  }
}

template <typename T, int kWidth>
void LaunchWide(const KernelArgs& args, const StridedWalk& walk) {
  auto* const kernel = args.accumulate ? Accumulate<T, kWidth, true> : Accumulate<T, kWidth, false>;
  TRIREME_LAUNCH(args, BlocksFor(walk.count, kThreads), kThreads, 0, kernel, args.in[0].as<T>(),
                 args.out[0].as<T>(), walk);
}

template <typename T>
void Launch(const KernelArgs& args) {
  if (args.in[0].count() == 0) return;
  const StridedWalk walk = MakeStridedWalk(args.in[0], args.out[0], kWidest<T>);
  if (walk.width > 1) return LaunchWide<T, kWidest<T>>(args, walk);
  LaunchWide<T, 1>(args, walk);
}

}  // namespace

void Cuda_accumulate(const KernelArgs& args) {
  const DType dtype = args.in[0].dtype;
  CHECK(args.out[0].dtype == dtype) << "accumulate between different types";
  if (dtype == DType::kFloat64) return Launch<double>(args);
  CHECK(dtype == DType::kFloat32) << "accumulate of " << Name(dtype);
  Launch<float>(args);
}

}  // namespace trireme
