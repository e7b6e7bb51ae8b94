// Element by element sum and maximum, the arithmetic of reductions.
#ifndef TRIREME_WORKER_COMM_COMBINE_H_
#define TRIREME_WORKER_COMM_COMBINE_H_

#include <cstdint>

#include "common/base/status.h"
#include "common/sharding/sharding.h"
#include "common/tensor/dtype.h"

namespace trireme {

// OK for the element types that can be reduced: float32, float64, int32. Otherwise
// kInvalidArgument.
Status CheckReducible(DType dtype);

// out[i] = left[i] + right[i], or the larger one (NaN if one is NaN). int32 sums wrap around. `out`
// may be the same memory as `left` or `right`, but not overlap them otherwise.
void Combine(DType dtype, ReduceKind kind, const void* left, const void* right, void* out,
             int64_t count);

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_COMBINE_H_
