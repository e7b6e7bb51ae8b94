// Strided copy: long memory moves where both sides are contiguous.
#include <cstring>

#include "kernels/device/strided.h"
#include "kernels/ops/kernel.h"

namespace trireme {
namespace {

template <typename T>
void CopyAs(const KernelArgs& args) {
  const T* x = args.in[0].as<T>();
  T* y = args.out[0].as<T>();
  ForEachStridedRow(args.stream, args.in[0], args.out[0],
                    [&](int64_t from, int64_t to, const StridedDim& row) {
                      if (row.from == 1 && row.to == 1) {
                        std::memcpy(y + to, x + from, row.size * sizeof(T));
                        return;
                      }
                      for (int64_t i = 0; i < row.size; ++i) {
                        y[to + i * row.to] = x[from + i * row.from];
                      }
                    });
}

}  // namespace

void Cpu_copy(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& y = args.out[0];
  CHECK(x.sizes == y.sizes && x.dtype == y.dtype) << "copy between different shapes or types";
  if (x.count() == 0) return;
  switch (SizeOf(x.dtype)) {
    case 1:
      return CopyAs<uint8_t>(args);
    case 2:
      return CopyAs<uint16_t>(args);
    case 4:
      return CopyAs<uint32_t>(args);
    case 8:
      return CopyAs<uint64_t>(args);
    default:
      CHECK(false) << "copy of " << Name(x.dtype);
  }
}

}  // namespace trireme
