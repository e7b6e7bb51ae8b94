// A counting sort: one pass counts each expert's assignments, the next gives every assignment its
// place in its shard's list, which says its wave and slot without the list being made.
#include <algorithm>
#include <vector>

#include "kernels/ops/dispatch_plan/pools.h"
#include "kernels/ops/kernel.h"

namespace trireme {
namespace {

// Where element `i` of a list of `size` goes.
struct Place {
  int64_t wave = 0;
  int64_t slot = -1;  // of its part; -1: dropped
};

struct Plan {
  PoolShape pool;
  int64_t waves = 0;
  bool thin = false;
  int64_t expert_start = 0;

  Place PlaceOf(int64_t i, int64_t size) const {
    if (thin && size > pool.capacity) {
      const int64_t before = i * pool.capacity / size;
      return {0, (i + 1) * pool.capacity / size > before ? before : -1};
    }
    if (i < pool.capacity) return {0, i};
    const int64_t wave = i / pool.capacity;
    if (wave >= waves) return {};
    return {wave, i - wave * pool.capacity};
  }
};

// What the lists of one part, or of all of them, add to the counters.
struct Totals {
  int64_t waves_needed = 0;
  int64_t drops = 0;
  int64_t extra_waves = 0;
};

// Sorts assignments [begin, end), which are those of `part`.
void PlanPart(const Plan& plan, const int32_t* ids, int64_t begin, int64_t end, int64_t part,
              int32_t* source, int32_t* counts, Totals& totals) {
  const PoolShape& pool = plan.pool;
  const int64_t num_experts = pool.shards * pool.experts;
  std::vector<int64_t> next(num_experts);  // first how many, then the next place in the list
  std::vector<int64_t> sizes(pool.shards);
  const auto local = [&](int64_t i) -> int64_t {
    const int64_t expert = ids[i] - plan.expert_start;
    return ids[i] >= 0 && expert >= 0 && expert < num_experts ? expert : -1;
  };
  for (int64_t i = begin; i < end; ++i) {
    const int64_t expert = local(i);
    if (expert >= 0) ++next[expert];
  }
  for (int64_t expert = 0; expert < num_experts; ++expert) {
    int64_t& size = sizes[expert / pool.experts];
    const int64_t count = next[expert];
    next[expert] = size;
    size += count;
  }
  for (int64_t i = begin; i < end; ++i) {
    const int64_t expert = local(i);
    if (expert < 0) continue;
    const int64_t shard = expert / pool.experts;
    const Place place = plan.PlaceOf(next[expert]++, sizes[shard]);
    if (place.slot < 0) continue;
    source[place.wave * pool.shards * pool.slots() + pool.PartStart(shard, part) + place.slot] =
        static_cast<int32_t>(i);
    ++counts[(place.wave * pool.parts + part) * num_experts + expert];
  }
  for (const int64_t size : sizes) {
    const int64_t kept = std::min(size, plan.waves * pool.capacity);
    const int64_t needed = CeilDiv(kept, pool.capacity);
    totals.waves_needed = std::max(totals.waves_needed, needed);
    totals.extra_waves += std::max<int64_t>(0, needed - 1);
    totals.drops += size - kept;
  }
}

}  // namespace

void Cpu_dispatch_plan(const KernelArgs& args) {
  const Tensor& ids = args.in[0];
  const Tensor& source = args.out[0];
  const Tensor& counts = args.out[1];
  const Plan plan = {.pool = MakePoolShape(source.size(1), source.size(2), counts),
                     .waves = source.size(0),
                     .thin = args.attrs.GetInt("thin") != 0,
                     .expert_start = args.attrs.GetInt("expert_start", 0)};
  const int64_t parts = plan.pool.parts;
  CHECK_EQ(ids.size(0) % parts, 0) << "batch=" << ids.size(0) << " token_shards=" << parts;
  std::fill_n(source.i32(), source.count(), -1);
  std::fill_n(counts.i32(), counts.count(), 0);
  Totals totals;
  for (int64_t part = 0; part < parts; ++part) {
    PlanPart(plan, ids.i32(), part * (ids.count() / parts), (part + 1) * (ids.count() / parts),
             part, source.i32(), counts.i32(), totals);
  }
  *args.out[2].i32() = static_cast<int32_t>(totals.waves_needed);
  *args.out[3].f64() = static_cast<double>(totals.drops);
  *args.out[4].f64() = static_cast<double>(totals.extra_waves);
}

}  // namespace trireme
