// The cheapest sequence of slice (free), all-gather, reduce-scatter, all-reduce and all-to-all that
// turns one sharding of a value into another.
#ifndef TRIREME_COMMON_SHARDING_RESHARD_H_
#define TRIREME_COMMON_SHARDING_RESHARD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/sharding/sharding.h"

namespace trireme {

enum class ReshardKind : uint8_t { kSlice, kAllGather, kReduceScatter, kAllReduce, kAllToAll };
std::string_view Name(ReshardKind kind);  // "slice", "all_gather", ...

// One step over the group of `axes` (major to minor; a single fabric).
//   kSlice          dim is cut further: axes are appended to dim_axes[dim]
//   kAllGather      the last axes of dim_axes[dim] are removed
//   kReduceScatter  partial axes are resolved and appended to dim_axes[dim]
//   kAllReduce      partial axes are resolved; dim = -1
//   kAllToAll       the last axes of dim_axes[dim] move to the end of dim_axes[to_dim]
struct ReshardStep {
  ReshardKind kind = ReshardKind::kSlice;
  std::vector<int> axes;
  int dim = -1;
  int to_dim = -1;
  ReduceKind reduce = ReduceKind::kSum;
  Sharding result;    // sharding after this step
  int64_t bytes = 0;  // sent by one rank: (n-1)/n of the full buffer for gather, scatter,
                      // all-to-all; twice for all-reduce
  Fabric fabric = Fabric::kIci;
};

// Partial entries of `from` that `to` keeps stay partial (kMicrobatchAxis entries must be in both
// or neither). `dims` carry padded sizes; every size must divide in `from` and `to`. Cost: bytes
// over the fabric (DCN counted 16 times dearer) plus a small charge a step, so fewer steps win
// ties. An axis that `to` leaves whole is a split on the way only where sums inside and between
// slices meet: reduce-scatter, all-reduce between slices, all-gather. With `flat` such sums are one
// all-reduce over all their axes instead, and DCN carries it whole.
// Errors: kInvalidArgument if `to` is partial over an axis that `from` is not, shapes do not
// divide, or sums and maxima would be resolved together (their order matters).
StatusOr<std::vector<ReshardStep>> PlanReshard(const Mesh& mesh, const std::vector<Dim>& dims,
                                               int64_t element_bytes, const Sharding& from,
                                               const Sharding& to, bool flat = false);

// One line a step. Example: "reduce_scatter SUM over (data) ici dim 1, 768 bytes\n".
std::string ToText(const Mesh& mesh, const std::vector<ReshardStep>& steps);

}  // namespace trireme

#endif  // TRIREME_COMMON_SHARDING_RESHARD_H_
