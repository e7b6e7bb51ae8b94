// How many sums the GPU's sum_squares makes at once, and the scratch that they need.
#ifndef TRIREME_KERNELS_OPS_SUM_SQUARES_PARTIALS_H_
#define TRIREME_KERNELS_OPS_SUM_SQUARES_PARTIALS_H_

#include <algorithm>
#include <cstdint>

#include "common/base/math.h"

namespace trireme {

// Blocks for `count` elements: the order of the sum depends on nothing else.
inline int64_t SumSquaresBlocks(int64_t count) {
  constexpr int64_t kElements = 4096;  // worth a block
  constexpr int64_t kMost = 528;
  return std::clamp<int64_t>(CeilDiv(count, kElements), 1, kMost);
}

// {sum, count} of each block.
inline int64_t SumSquaresScratchBytes(int64_t count) {
  return SumSquaresBlocks(count) * 2 * static_cast<int64_t>(sizeof(double));
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_SUM_SQUARES_PARTIALS_H_
