// What the policies leave for the end of a step stays a partial sum.
#include "coordinator/compiler/partition/accumulator_sharding.h"

#include <algorithm>
#include <set>

namespace trireme {

namespace {

bool IsDcn(const Mesh& mesh, const Partial& partial) {
  return mesh.axis(partial.axis).fabric == Fabric::kDcn;
}

// Splits, over the axes inside a slice whose sums end whole, so that a later sum between slices
// carries a shard only.
void Scatter(const Mesh& mesh, const std::vector<Dim>& dims, const std::set<int>& deferred,
             const Sharding& natural, Sharding& result) {
  std::set<int> taken = deferred;
  for (const std::vector<int>& axes : result.dim_axes) taken.insert(axes.begin(), axes.end());
  for (const Partial& partial : natural.partial) {
    if (!taken.insert(partial.axis).second) continue;
    const std::vector<int64_t> sizes = LocalSizes(mesh, dims, result);
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] % mesh.axis(partial.axis).size != 0) continue;
      result.dim_axes[d].push_back(partial.axis);
      break;
    }
  }
}

}  // namespace

Sharding AccumulatorSharding(const Mesh& mesh, const std::vector<Dim>& dims,
                             const Sharding& natural, const Sharding& optimizer,
                             const PartitionOptions& options) {
  Sharding result = optimizer;
  const bool between = std::any_of(natural.partial.begin(), natural.partial.end(),
                                   [&](const Partial& partial) { return IsDcn(mesh, partial); });
  const bool several = options.num_microbatches > 1;
  bool dcn_deferred = false;
  std::set<int> deferred;
  for (const Partial& partial : natural.partial) {
    const bool dcn = IsDcn(mesh, partial) || (between && options.flat_dcn);
    const ReducePolicy policy = dcn ? options.reduce_dcn : options.reduce_ici;
    if ((dcn && options.compress_dcn) || (several && policy == ReducePolicy::kStep)) {
      deferred.insert(partial.axis);
      result.partial.push_back(partial);
      dcn_deferred = dcn_deferred || dcn;
    }
  }
  // An axis that is still summed cannot also split: keep those dims as the backward leaves them.
  for (size_t i = 0; i < result.dim_axes.size(); ++i) {
    for (const int axis : optimizer.dim_axes[i]) {
      if (deferred.count(axis) > 0) result.dim_axes = natural.dim_axes;
    }
  }
  if (dcn_deferred && !options.flat_dcn) Scatter(mesh, dims, deferred, natural, result);
  return result;
}

}  // namespace trireme
