// Strided copy: dims that are contiguous on both sides are merged first, so that most copies become
// long memory moves.
#include <cstring>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/ops/kernel.h"

namespace trireme {
namespace {

struct CopyDim {
  int64_t size = 1;
  int64_t from = 0;  // strides in elements
  int64_t to = 0;
};

// Dims of more than one element, neighbours merged where both sides allow it.
std::vector<CopyDim> MergedDims(const Tensor& x, const Tensor& y) {
  std::vector<CopyDim> dims;
  for (int d = 0; d < x.rank(); ++d) {
    const CopyDim dim = {x.size(d), x.strides[d], y.strides[d]};
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

template <typename T>
void CopyRow(const T* from, T* to, const CopyDim& dim, int64_t begin, int64_t end) {
  if (dim.from == 1 && dim.to == 1) {
    std::memcpy(to + begin, from + begin, (end - begin) * sizeof(T));
    return;
  }
  for (int64_t i = begin; i < end; ++i) to[i * dim.to] = from[i * dim.from];
}

template <typename T>
void CopyAs(const KernelArgs& args) {
  std::vector<CopyDim> dims = MergedDims(args.in[0], args.out[0]);
  const CopyDim inner = dims.back();
  dims.pop_back();
  const T* x = args.in[0].as<T>();
  T* y = args.out[0].as<T>();
  if (dims.empty()) {
    ParallelFor(args.stream, inner.size, 4 * kGrainElements,
                [&](int64_t begin, int64_t end) { CopyRow(x, y, inner, begin, end); });
    return;
  }
  int64_t rows = 1;
  for (const CopyDim& dim : dims) rows *= dim.size;
  ParallelRows(args.stream, rows, inner.size, [&](int64_t row) {
    int64_t from = 0;
    int64_t to = 0;
    for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
      const int64_t index = row % dims[d].size;
      row /= dims[d].size;
      from += index * dims[d].from;
      to += index * dims[d].to;
    }
    CopyRow(x + from, y + to, inner, 0, inner.size);
  });
}

}  // namespace

void Cpu_copy(const KernelArgs& args) {
  const Tensor& x = args.in[0];
  const Tensor& y = args.out[0];
  CHECK(x.sizes == y.sizes && x.dtype == y.dtype) << "copy between different shapes or types";
  if (x.count() == 0) return;
  switch (SizeOf(x.dtype)) {
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
