// What the CPU kernels of the ops share.
#ifndef TRIREME_KERNELS_DEVICE_CPU_UTIL_H_
#define TRIREME_KERNELS_DEVICE_CPU_UTIL_H_

#include <cstdint>
#include <vector>

#include "kernels/device/tensor.h"

namespace trireme {

// True when the tensors at `indexes` are float32: what the fast kernels are written for. Other
// types go to the reference.
inline bool AreFloat32(const std::vector<Tensor>& tensors, std::initializer_list<int> indexes) {
  for (const int i : indexes) {
    if (tensors[i].dtype != DType::kFloat32) return false;
  }
  return true;
}

// A tensor as rows of its last dim.
struct RowShape {
  int64_t rows = 0;
  int64_t columns = 0;
};
inline RowShape RowsOf(const Tensor& tensor) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < tensor.rank(); ++i) rows *= tensor.size(i);
  return {rows, tensor.sizes.empty() ? 1 : tensor.sizes.back()};
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CPU_UTIL_H_
