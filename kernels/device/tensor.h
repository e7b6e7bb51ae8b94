// A typed, strided view of memory that kernels read and write, and the stream they run on.
#ifndef TRIREME_KERNELS_DEVICE_TENSOR_H_
#define TRIREME_KERNELS_DEVICE_TENSOR_H_

#include <cstdint>
#include <vector>

#include "common/base/check.h"
#include "common/base/math.h"
#include "common/tensor/dtype.h"

namespace trireme {

// Borrowed memory; `data` is a device address when the stream is a GPU's. Kernels never write to
// their inputs.
struct Tensor {
  DType dtype = DType::kFloat32;
  void* data = nullptr;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements

  int64_t size(int dim) const { return sizes[dim]; }
  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t count() const { return Product(sizes); }
  bool IsDense() const { return strides == DenseStrides(sizes); }

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  float* f32() const {
    CHECK(dtype == DType::kFloat32);
    return as<float>();
  }
  double* f64() const {
    CHECK(dtype == DType::kFloat64);
    return as<double>();
  }
  int32_t* i32() const {
    CHECK(dtype == DType::kInt32);
    return as<int32_t>();
  }
};

// Offset of element `i`, row-major, of a view.
inline int64_t StridedOffset(const Tensor& view, int64_t i) {
  int64_t offset = 0;
  for (int d = view.rank() - 1; d >= 0; --d) {
    offset += i % view.size(d) * view.strides[d];
    i /= view.size(d);
  }
  return offset;
}

// Where kernels run: a CPU with a number of threads, later a CUDA stream.
struct Stream {
  int num_threads = 1;
  void* handle = nullptr;  // cudaStream_t on a GPU
};

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_TENSOR_H_
