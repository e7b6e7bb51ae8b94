// A tensor that owns its memory, for tests: filled from a seed, compared with a message that says
// where and by how much.
#ifndef TRIREME_KERNELS_TESTING_HOST_TENSOR_H_
#define TRIREME_KERNELS_TESTING_HOST_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/tensor/dim.h"
#include "kernels/device/tensor.h"

namespace trireme {

class HostTensor {
 public:
  HostTensor() = default;
  // Zeros.
  HostTensor(DType dtype, std::vector<int64_t> sizes);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t count() const { return Product(sizes_); }
  double Get(int64_t i) const;
  void Set(int64_t i, double value);
  void Fill(double value);
  std::vector<double> Values() const;

  // Dense view of this memory, valid while this tensor lives and is not assigned to.
  Tensor view() const;

  // The part [begin, begin + size) of dim `dim`.
  HostTensor Slice(int dim, int64_t begin, int64_t size) const;
  // Copies `part` to where Slice would have taken it from.
  void Place(int dim, int64_t begin, const HostTensor& part);

 private:
  DType dtype_ = DType::kFloat32;
  std::vector<int64_t> sizes_;
  mutable std::vector<double> memory_;  // as bytes; doubles for alignment
};

// A stream of reproducible numbers.
class TestRandom {
 public:
  explicit TestRandom(uint64_t seed) : state_(seed) {}
  double Uniform();  // in (0, 1)
  double Normal();
  int64_t Below(int64_t n);

 private:
  uint64_t state_;
};

// "" when every element of `actual` is within tolerance * max(|expected|, mean |expected|) of
// `expected` (infinities equal, no NaN); otherwise the first index that is not, and both values.
std::string Difference(const HostTensor& expected, const HostTensor& actual, double tolerance);

}  // namespace trireme

#endif  // TRIREME_KERNELS_TESTING_HOST_TENSOR_H_
