// A constant: 16 bytes a thread and turn.
#include "kernels/device/cuda/wide.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads) Fill(T* y, int64_t groups, int64_t count, T value) {
  Wide<T, kWidth> group;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) group.at[k] = value;
  for (int64_t i = GridIndex(); i < groups; i += GridStride()) StoreWide<kWidth>(y, i, group);
  for (int64_t i = kWidth * groups + GridIndex(); i < count; i += GridStride()) y[i] = value;
}

template <typename T>
void Launch(const KernelArgs& args) {
  constexpr int kWidth = kWidest<T>;
  T* y = args.out[0].as<T>();
  const int64_t count = args.out[0].count();
  const auto value = static_cast<T>(args.attrs.GetDouble("value"));
  if (count == 0) return;
  const int64_t groups = AreAligned16(y) ? count / kWidth : 0;
  const int64_t threads = count - (kWidth - 1) * groups;
  auto* const kernel = Fill<T, kWidth>;
  TRIREME_LAUNCH(args, BlocksFor(threads, kThreads), kThreads, 0, kernel, y, groups, count, value);
}

}  // namespace

void Cuda_fill(const KernelArgs& args) {
  switch (args.out[0].dtype) {
    case DType::kFloat32:
      return Launch<float>(args);
    case DType::kFloat64:
      return Launch<double>(args);
    case DType::kInt32:
      return Launch<int32_t>(args);
    default:
      CHECK(false) << "fill of " << Name(args.out[0].dtype);
  }
}

}  // namespace trireme
