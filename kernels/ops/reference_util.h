// Element access for reference kernels: dense tensors of any supported type are read and written as
// doubles, so that one reference serves float32 and float64 alike.
#ifndef TRIREME_KERNELS_OPS_REFERENCE_UTIL_H_
#define TRIREME_KERNELS_OPS_REFERENCE_UTIL_H_

#include <cstdint>
#include <vector>

#include "common/base/check.h"
#include "kernels/device/tensor.h"

namespace trireme {

// Element `i`, row-major, of a dense tensor.
inline double Load(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case DType::kFloat32:
      return tensor.as<float>()[i];
    case DType::kFloat64:
      return tensor.as<double>()[i];
    case DType::kInt32:
      return tensor.as<int32_t>()[i];
    case DType::kInt8:
      return tensor.as<int8_t>()[i];
    default:
      CHECK(false) << "reference kernels do not read " << Name(tensor.dtype);
      return 0;
  }
}

// Sets element `i`, or adds to it when `accumulate`.
inline void Store(const Tensor& tensor, int64_t i, double value, bool accumulate = false) {
  if (accumulate) value += Load(tensor, i);
  switch (tensor.dtype) {
    case DType::kFloat32:
      tensor.as<float>()[i] = static_cast<float>(value);
      return;
    case DType::kFloat64:
      tensor.as<double>()[i] = value;
      return;
    case DType::kInt32:
      tensor.as<int32_t>()[i] = static_cast<int32_t>(value);
      return;
    case DType::kInt8:
      tensor.as<int8_t>()[i] = static_cast<int8_t>(value);
      return;
    default:
      CHECK(false) << "reference kernels do not write " << Name(tensor.dtype);
  }
}

// All elements as doubles.
inline std::vector<double> LoadAll(const Tensor& tensor) {
  std::vector<double> values(tensor.count());
  for (int64_t i = 0; i < tensor.count(); ++i) values[i] = Load(tensor, i);
  return values;
}

// Sets, or adds to, all elements.
inline void StoreAll(const Tensor& tensor, const std::vector<double>& values,
                     bool accumulate = false) {
  CHECK_EQ(static_cast<int64_t>(values.size()), tensor.count());
  for (int64_t i = 0; i < tensor.count(); ++i) Store(tensor, i, values[i], accumulate);
}

// Elements in the last dim, and rows of that length.
inline int64_t LastSize(const Tensor& tensor) { return tensor.sizes.back(); }
inline int64_t NumRows(const Tensor& tensor) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < tensor.rank(); ++i) rows *= tensor.size(i);
  return rows;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_REFERENCE_UTIL_H_
