// Walks two strided views of the same sizes together. Dims that are contiguous on both sides are
// merged first, so that most walks become a few long rows.
#ifndef TRIREME_KERNELS_DEVICE_STRIDED_H_
#define TRIREME_KERNELS_DEVICE_STRIDED_H_

#include <cstdint>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/device/tensor.h"

namespace trireme {

struct StridedDim {
  int64_t size = 1;
  int64_t from = 0;  // strides in elements
  int64_t to = 0;
};

// Dims of more than one element, neighbours merged where both sides allow it; at least one dim.
inline std::vector<StridedDim> MergedDims(const Tensor& x, const Tensor& y) {
  std::vector<StridedDim> dims;
  for (int d = 0; d < x.rank(); ++d) {
    const StridedDim dim = {x.size(d), x.strides[d], y.strides[d]};
    if (dim.size == 1) continue;
    if (!dims.empty() && dims.back().from == dim.from * dim.size &&
        dims.back().to == dim.to * dim.size) {
      dims.back() = {dims.back().size * dim.size, dim.from, dim.to};
    } else {
      dims.push_back(dim);
    }
  }
  if (dims.empty()) dims.push_back({1, 1, 1});
  return dims;
}

// f(from, to, row) for pieces of rows that together are all elements: element i < row.size of the
// piece is at offset from + i * row.from in x and to + i * row.to in y. Neither may be empty.
template <typename F>
void ForEachStridedRow(const Stream& stream, const Tensor& x, const Tensor& y, const F& f) {
  std::vector<StridedDim> dims = MergedDims(x, y);
  const StridedDim inner = dims.back();
  dims.pop_back();
  if (dims.empty()) {
    ParallelFor(stream, inner.size, 4 * kGrainElements, [&](int64_t begin, int64_t end) {
      f(begin * inner.from, begin * inner.to, StridedDim{end - begin, inner.from, inner.to});
    });
    return;
  }
  int64_t rows = 1;
  for (const StridedDim& dim : dims) rows *= dim.size;
  ParallelRows(stream, rows, inner.size, [&](int64_t row) {
    int64_t from = 0;
    int64_t to = 0;
    for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
      const int64_t index = row % dims[d].size;
      row /= dims[d].size;
      from += index * dims[d].from;
      to += index * dims[d].to;
    }
    f(from, to, inner);
  });
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_STRIDED_H_
