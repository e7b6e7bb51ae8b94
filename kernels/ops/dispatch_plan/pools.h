// Where rows lie in the pools that dispatch_plan fills: a pool has `parts` parts of `capacity`
// slots for each local expert shard; a part's rows are packed from its first slot, sorted by
// expert.
#ifndef TRIREME_KERNELS_OPS_DISPATCH_PLAN_POOLS_H_
#define TRIREME_KERNELS_OPS_DISPATCH_PLAN_POOLS_H_

#include <cstdint>
#include <vector>

#include "common/base/check.h"
#include "kernels/device/tensor.h"

namespace trireme {

// Local sizes of one wave's pool.
struct PoolShape {
  int64_t shards = 0;    // expert shards
  int64_t parts = 0;     // token shards
  int64_t capacity = 0;  // slots of one part
  int64_t experts = 0;   // of one shard

  int64_t slots() const { return parts * capacity; }
  // Flat slot, shard by shard, at which a part begins.
  int64_t PartStart(int64_t shard, int64_t part) const { return (shard * parts + part) * capacity; }
};

// From a tensor's local shards and slots, and counts:int32[wave,token_shard,expert].
inline PoolShape MakePoolShape(int64_t shards, int64_t slots, const Tensor& counts) {
  const int64_t parts = counts.size(1);
  CHECK_EQ(slots % parts, 0) << "slots=" << slots << " token_shards=" << parts;
  CHECK_EQ(counts.size(2) % shards, 0) << "experts=" << counts.size(2) << " shards=" << shards;
  return {shards, parts, slots / parts, counts.size(2) / shards};
}

// Consecutive rows of one expert.
struct RowGroup {
  int64_t expert = 0;  // local
  int64_t start = 0;   // flat slot
  int64_t rows = 0;
};

// The groups with rows of wave `wave`, all those of an expert one after the other; and the empty
// slots behind the rows of each part as groups of expert -1.
struct RowGroups {
  std::vector<RowGroup> filled;
  std::vector<RowGroup> empty;
};

inline RowGroups ListRowGroups(const PoolShape& pool, const Tensor& counts, int64_t wave) {
  const int64_t num_experts = pool.shards * pool.experts;
  const int32_t* rows = counts.i32() + wave * pool.parts * num_experts;
  RowGroups groups;
  std::vector<int64_t> next(pool.parts);
  for (int64_t shard = 0; shard < pool.shards; ++shard) {
    for (int64_t part = 0; part < pool.parts; ++part) next[part] = pool.PartStart(shard, part);
    for (int64_t expert = shard * pool.experts; expert < (shard + 1) * pool.experts; ++expert) {
      for (int64_t part = 0; part < pool.parts; ++part) {
        const int64_t count = rows[part * num_experts + expert];
        if (count > 0) groups.filled.push_back({expert, next[part], count});
        next[part] += count;
      }
    }
    for (int64_t part = 0; part < pool.parts; ++part) {
      const int64_t end = pool.PartStart(shard, part) + pool.capacity;
      CHECK_LE(next[part], end) << "counts of shard " << shard << " part " << part
                                << " exceed capacity=" << pool.capacity;
      if (next[part] < end) groups.empty.push_back({-1, next[part], end - next[part]});
    }
  }
  return groups;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_DISPATCH_PLAN_POOLS_H_
