// For tests only: carries out reshard steps on the buffers of all ranks, each rank using nothing
// but its own buffer and those of its group, as real collectives would.
#ifndef TRIREME_COMMON_SHARDING_RESHARD_SIMULATOR_H_
#define TRIREME_COMMON_SHARDING_RESHARD_SIMULATOR_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/check.h"
#include "common/base/math.h"
#include "common/mesh/mesh.h"
#include "common/sharding/reshard.h"
#include "common/sharding/sharding.h"

namespace trireme {

using RankBuffer = std::vector<double>;       // one rank's shard, row-major
using RankBuffers = std::vector<RankBuffer>;  // by rank

// Copies the box of `sizes` at `start` out of a row-major array of `full_sizes`.
inline RankBuffer CopyBox(const RankBuffer& full, const std::vector<int64_t>& full_sizes,
                          const std::vector<int64_t>& start, const std::vector<int64_t>& sizes) {
  const std::vector<int64_t> full_strides = DenseStrides(full_sizes);
  const std::vector<int64_t> strides = DenseStrides(sizes);
  RankBuffer box(Product(sizes));
  for (int64_t i = 0; i < static_cast<int64_t>(box.size()); ++i) {
    int64_t source = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      source += (start[d] + i / strides[d] % sizes[d]) * full_strides[d];
    }
    box[i] = full[source];
  }
  return box;
}

// Part `index` of `count` equal parts of a buffer along `dim`.
inline RankBuffer Chunk(const RankBuffer& buffer, std::vector<int64_t> sizes, int dim,
                        int64_t index, int64_t count) {
  CHECK_EQ(sizes[dim] % count, 0);
  std::vector<int64_t> start(sizes.size(), 0);
  const std::vector<int64_t> full_sizes = sizes;
  sizes[dim] /= count;
  start[dim] = index * sizes[dim];
  return CopyBox(buffer, full_sizes, start, sizes);
}

// Parts of equal `sizes` put one after the other along `dim`.
inline RankBuffer Concat(const std::vector<RankBuffer>& parts, const std::vector<int64_t>& sizes,
                         int dim) {
  const int64_t inner = DenseStrides(sizes)[dim] * sizes[dim];  // contiguous run of one part
  const int64_t outer = Product(sizes) / std::max<int64_t>(inner, 1);
  RankBuffer whole;
  for (int64_t o = 0; o < outer; ++o) {
    for (const RankBuffer& part : parts) {
      whole.insert(whole.end(), part.begin() + o * inner, part.begin() + (o + 1) * inner);
    }
  }
  return whole;
}

inline RankBuffer Reduce(const RankBuffers& buffers, const std::vector<int64_t>& members,
                         ReduceKind kind) {
  RankBuffer result = buffers[members[0]];
  for (size_t m = 1; m < members.size(); ++m) {
    for (size_t i = 0; i < result.size(); ++i) {
      const double value = buffers[members[m]][i];
      result[i] = kind == ReduceKind::kSum ? result[i] + value : std::max(result[i], value);
    }
  }
  return result;
}

// What `rank` holds after `step`; `sizes` are the local sizes before it.
inline RankBuffer ApplyReshardStepOnRank(const Mesh& mesh, const ReshardStep& step,
                                         const std::vector<int64_t>& sizes,
                                         const RankBuffers& buffers, int64_t rank) {
  const std::vector<int64_t> members = mesh.GroupMembers(rank, step.axes);
  const int64_t count = static_cast<int64_t>(members.size());
  const int64_t index = std::find(members.begin(), members.end(), rank) - members.begin();
  std::vector<RankBuffer> parts;
  switch (step.kind) {
    case ReshardKind::kSlice:
      return Chunk(buffers[rank], sizes, step.dim, index, count);
    case ReshardKind::kAllGather:
      for (int64_t member : members) parts.push_back(buffers[member]);
      return Concat(parts, sizes, step.dim);
    case ReshardKind::kReduceScatter:
      return Chunk(Reduce(buffers, members, step.reduce), sizes, step.dim, index, count);
    case ReshardKind::kAllReduce:
      return Reduce(buffers, members, step.reduce);
    case ReshardKind::kAllToAll: {
      for (int64_t member : members) {
        parts.push_back(Chunk(buffers[member], sizes, step.to_dim, index, count));
      }
      std::vector<int64_t> part_sizes = sizes;
      part_sizes[step.to_dim] /= count;
      return Concat(parts, part_sizes, step.dim);
    }
  }
  return {};
}

// `buffers` lie as `before`; returns them as `step.result`.
inline RankBuffers ApplyReshardStep(const Mesh& mesh, const std::vector<Dim>& dims,
                                    const Sharding& before, const ReshardStep& step,
                                    const RankBuffers& buffers) {
  const std::vector<int64_t> sizes = LocalSizes(mesh, dims, before);
  RankBuffers after(buffers.size());
  for (int64_t rank = 0; rank < mesh.num_ranks(); ++rank) {
    after[rank] = ApplyReshardStepOnRank(mesh, step, sizes, buffers, rank);
  }
  return after;
}

// Runs all `steps` from `from`.
inline RankBuffers ApplyReshard(const Mesh& mesh, const std::vector<Dim>& dims,
                                const Sharding& from, const std::vector<ReshardStep>& steps,
                                RankBuffers buffers) {
  Sharding before = from;
  for (const ReshardStep& step : steps) {
    buffers = ApplyReshardStep(mesh, dims, before, step, buffers);
    before = step.result;
  }
  return buffers;
}

// The shards of `full` (row-major, physical sizes). Along partial axes each rank gets a share:
// shares add up to the value (kSum), or one of them is the value and the others are smaller (kMax).
// Shares are whole numbers when `full` is.
inline RankBuffers ShardForTest(const Mesh& mesh, const std::vector<Dim>& dims,
                                const Sharding& sharding, const RankBuffer& full) {
  std::vector<int64_t> full_sizes;
  for (const Dim& dim : dims) full_sizes.push_back(dim.physical());
  RankBuffers buffers;
  std::vector<int> partial_axes;
  for (const Partial& partial : sharding.partial) {
    if (partial.axis != kMicrobatchAxis) partial_axes.push_back(partial.axis);
  }
  const bool is_max = !partial_axes.empty() && sharding.partial.back().kind == ReduceKind::kMax;
  for (int64_t rank = 0; rank < mesh.num_ranks(); ++rank) {
    const std::vector<int64_t> members = mesh.GroupMembers(rank, partial_axes);
    const int64_t count = static_cast<int64_t>(members.size());
    const int64_t index = std::find(members.begin(), members.end(), rank) - members.begin();
    RankBuffer share = full;
    for (size_t i = 0; i < share.size() && count > 1; ++i) {
      auto random = [&](int64_t k) { return static_cast<double>(Mix64(i * 1000 + k) % 100); };
      const int64_t owner = static_cast<int64_t>(Mix64(i) % count);
      if (index != owner) share[i] = is_max ? share[i] - 1 - random(index) : random(index);
      for (int64_t k = 0; k < count && index == owner && !is_max; ++k) {
        if (k != owner) share[i] -= random(k);
      }
    }
    buffers.push_back(CopyBox(share, full_sizes, LocalStart(mesh, dims, sharding, rank),
                              LocalSizes(mesh, dims, sharding)));
  }
  return buffers;
}

}  // namespace trireme

#endif  // TRIREME_COMMON_SHARDING_RESHARD_SIMULATOR_H_
