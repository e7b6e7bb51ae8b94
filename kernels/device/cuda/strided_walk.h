// Walks two strided views of the same sizes together on the device, in groups of 16 bytes where
// rows are contiguous on both sides.
#ifndef TRIREME_KERNELS_DEVICE_CUDA_STRIDED_WALK_H_
#define TRIREME_KERNELS_DEVICE_CUDA_STRIDED_WALK_H_

#include "kernels/device/cuda/divide.h"
#include "kernels/device/cuda/wide.h"
#include "kernels/device/strided.h"

namespace trireme {

inline constexpr int kMostWalkDims = 8;  // after merging

// What a kernel needs to find a group; strides are in groups.
struct StridedWalk {
  int rank = 0;
  int64_t count = 1;  // groups
  int64_t width = 1;  // elements of a group
  Divider size[kMostWalkDims];
  int64_t from[kMostWalkDims];
  int64_t to[kMostWalkDims];

  // Offsets of group `i`, row-major, on both sides.
  __device__ __forceinline__ void Find(int64_t i, int64_t* from_offset, int64_t* to_offset) const {
    *from_offset = 0;
    *to_offset = 0;
    for (int d = rank - 1; d > 0; --d) {
      const DividedBy part = size[d].Divide(i);
      *from_offset += part.remainder * from[d];
      *to_offset += part.remainder * to[d];
      i = part.quotient;
    }
    *from_offset += i * from[0];
    *to_offset += i * to[0];
  }
};

// Whether rows are contiguous on both sides and start and end at multiples of `width` elements.
inline bool CanWalkWide(const Tensor& x, const Tensor& y, const std::vector<StridedDim>& dims,
                        int64_t width) {
  const StridedDim& inner = dims.back();
  bool can = AreAligned16(x.as<char>(), y.as<char>()) && inner.from == 1 && inner.to == 1 &&
             inner.size % width == 0;
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    can = can && dims[d].from % width == 0 && dims[d].to % width == 0;
  }
  return can;
}

// A walk from x to y, neither empty; `widest`: elements in 16 bytes. Its width is that or 1.
inline StridedWalk MakeStridedWalk(const Tensor& x, const Tensor& y, int64_t widest) {
  std::vector<StridedDim> dims = MergedDims(x, y);
  CHECK_LE(static_cast<int>(dims.size()), kMostWalkDims) << "dims of a strided view";
  StridedWalk walk;
  if (CanWalkWide(x, y, dims, widest)) {
    walk.width = widest;
    for (StridedDim& dim : dims) dim = {dim.size, dim.from / widest, dim.to / widest};
    dims.back() = {dims.back().size / widest, 1, 1};
  }
  for (const StridedDim& dim : dims) {
    walk.size[walk.rank] = Divider(dim.size);
    walk.from[walk.rank] = dim.from;
    walk.to[walk.rank] = dim.to;
    walk.count *= dim.size;
    ++walk.rank;
  }
  return walk;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_CUDA_STRIDED_WALK_H_
