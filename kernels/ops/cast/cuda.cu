// float32 and float64 as each other: 8 to 16 bytes an element, a warp's accesses side by side.
#include "kernels/device/cuda/cuda.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads) Cast(const From* x, To* y, int64_t count) {
  for (int64_t i = GridIndex(); i < count; i += GridStride()) y[i] = static_cast<To>(x[i]);
}

template <typename From, typename To>
void Launch(const KernelArgs& args) {
  const int64_t count = args.in[0].count();
  if (count == 0) return;
  auto* const kernel = Cast<From, To>;
  TRIREME_LAUNCH(args, BlocksFor(count, kThreads), kThreads, 0, kernel, args.in[0].as<From>(),
                 args.out[0].as<To>(), count);
}

bool IsDouble(const Tensor& tensor) {
  CHECK(tensor.dtype == DType::kFloat32 || tensor.dtype == DType::kFloat64)
      << "cast between float32 and float64 only, not " << Name(tensor.dtype);
  return tensor.dtype == DType::kFloat64;
}

}  // namespace

void Cuda_cast(const KernelArgs& args) {
  const bool to_double = IsDouble(args.out[0]);
  if (IsDouble(args.in[0])) {
    return to_double ? Launch<double, double>(args) : Launch<double, float>(args);
  }
  return to_double ? Launch<float, double>(args) : Launch<float, float>(args);
}

}  // namespace trireme
