// Strided copy, a thread a group of 16 bytes where rows are contiguous on both sides, else a thread
// an element: then the side whose last dim is not contiguous moves a sector of 32 bytes for each.
#include "kernels/device/cuda/strided_walk.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads) Copy(const T* x, T* y, StridedWalk walk) {
  for (int64_t i = GridIndex(); i < walk.count; i += GridStride()) {
    int64_t from, to;
    walk.Find(i, &from, &to);
    y[to] = x[from];
  }
}

template <typename T>
void Launch(const KernelArgs& args, const StridedWalk& walk) {
  auto* const kernel = Copy<T>;
  TRIREME_LAUNCH(args, BlocksFor(walk.count, kThreads), kThreads, 0, kernel, args.in[0].as<T>(),
                 args.out[0].as<T>(), walk);
}

}  // namespace

void Cuda_copy(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& y = args.out[0];
  CHECK(x.sizes == y.sizes && x.dtype == y.dtype) << "copy between different shapes or types";
  if (x.count() == 0) return;
  const int64_t bytes = SizeOf(x.dtype);
  const StridedWalk walk = MakeStridedWalk(x, y, 16 / bytes);
  if (walk.width > 1) return Launch<Wide<uint32_t, 4>>(args, walk);
  switch (bytes) {
    case 1:
      return Launch<uint8_t>(args, walk);
    case 2:
      return Launch<uint16_t>(args, walk);
    case 4:
      return Launch<uint32_t>(args, walk);
    case 8:
      return Launch<uint64_t>(args, walk);
    default:
      CHECK(false) << "copy of " << Name(x.dtype);
  }
}

}  // namespace trireme
