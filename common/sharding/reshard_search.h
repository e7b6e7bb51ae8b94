// The search behind PlanReshard: Dijkstra over the shardings of one value, with single collectives
// as edges.
#ifndef TRIREME_COMMON_SHARDING_RESHARD_SEARCH_H_
#define TRIREME_COMMON_SHARDING_RESHARD_SEARCH_H_

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/sharding/reshard.h"

namespace trireme {

// One edge. All kinds but kAllToAll act on one axis; kAllToAll moves a suffix of dim's axes.
struct ReshardAction {
  ReshardKind kind = ReshardKind::kSlice;
  std::vector<int> axes;
  int dim = -1;
  int to_dim = -1;
};

struct ReshardProblem {
  std::vector<int64_t> sizes;  // physical sizes of the dims
  int64_t element_bytes = 1;
  Sharding from;  // no axes of size 1
  Sharding to;    // partial axes are among those of `from`
};

// Bytes one rank sends when it holds `local_bytes` before the step, in a group of `group_size`.
int64_t ReshardBytes(ReshardKind kind, int64_t local_bytes, int64_t group_size);

// The cheapest actions, in order. An axis that `to` leaves whole is never used as a split on the
// way, except a sum inside slices beside one between them (reduce-scatter, all-reduce of the shard,
// all-gather); and axes that `from` and `to` share at the front of a dim stay where they are; both
// keep the search small. Errors: kInvalidArgument beyond 8 axes that move or 14 dims.
StatusOr<std::vector<ReshardAction>> SearchReshard(const Mesh& mesh, const ReshardProblem& problem);

}  // namespace trireme

#endif  // TRIREME_COMMON_SHARDING_RESHARD_SEARCH_H_
