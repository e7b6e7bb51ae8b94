// For each expert shard and part of the tokens: the list of its assignments, sorted by expert, cut
// into waves. Outputs: source[wave,shard,slot], the assignment (token * k + choice, of the local
// tokens) in a slot or -1; counts[wave,token_shard,expert], its rows; waves_needed, the most of any
// shard and part; drops, assignments without a slot; extra_waves, waves beyond the first, summed.
#include <algorithm>

#include "kernels/ops/dispatch_plan/pools.h"
#include "kernels/ops/kernel.h"
#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// Assignments of tokens [token_begin, token_end) to experts [expert_begin, expert_end), sorted by
// expert, then as they come.
std::vector<int64_t> SortedAssignments(const Tensor& ids, int64_t begin, int64_t end,
                                       int64_t expert_begin, int64_t expert_end) {
  std::vector<int64_t> list;
  for (int64_t expert = expert_begin; expert < expert_end; ++expert) {
    for (int64_t i = begin; i < end; ++i) {
      if (Load(ids, i) == static_cast<double>(expert)) list.push_back(i);
    }
  }
  return list;
}

// `keep` of the list's elements, evenly spread.
std::vector<int64_t> Thinned(const std::vector<int64_t>& list, int64_t keep) {
  const int64_t size = static_cast<int64_t>(list.size());
  if (size <= keep) return list;
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < size; ++i) {
    if ((i + 1) * keep / size > i * keep / size) kept.push_back(list[i]);
  }
  return kept;
}

}  // namespace

void Reference_dispatch_plan(const KernelArgs& args) {
  const Tensor& ids = args.in[0];
  const Tensor& source = args.out[0];
  const Tensor& counts = args.out[1];
  const PoolShape pool = MakePoolShape(source.size(1), source.size(2), counts);
  const int64_t waves = source.size(0);
  const int64_t expert_start = args.attrs.GetInt("expert_start", 0);
  const bool thin = args.attrs.GetInt("thin") != 0;
  const int64_t part_size = ids.count() / pool.parts;  // assignments
  CHECK_EQ(ids.size(0) % pool.parts, 0);

  std::vector<double> sources(source.count(), -1), rows(counts.count());
  int64_t waves_needed = 0, drops = 0, extra_waves = 0;
  for (int64_t shard = 0; shard < pool.shards; ++shard) {
    const int64_t first_expert = expert_start + shard * pool.experts;
    for (int64_t part = 0; part < pool.parts; ++part) {
      std::vector<int64_t> list = SortedAssignments(ids, part * part_size, (part + 1) * part_size,
                                                    first_expert, first_expert + pool.experts);
      const int64_t size = static_cast<int64_t>(list.size());
      const int64_t kept = std::min(size, waves * pool.capacity);
      if (thin) list = Thinned(list, kept);
      for (int64_t i = 0; i < kept; ++i) {
        const int64_t wave = i / pool.capacity;
        const int64_t expert = static_cast<int64_t>(Load(ids, list[i])) - expert_start;
        sources[wave * pool.shards * pool.slots() + pool.PartStart(shard, part) +
                i % pool.capacity] = static_cast<double>(list[i]);
        ++rows[(wave * pool.parts + part) * counts.size(2) + expert];
      }
      const int64_t needed = CeilDiv(kept, pool.capacity);
      waves_needed = std::max(waves_needed, needed);
      extra_waves += std::max<int64_t>(0, needed - 1);
      drops += size - kept;
    }
  }
  StoreAll(source, sources);
  StoreAll(counts, rows);
  Store(args.out[2], 0, static_cast<double>(waves_needed));
  Store(args.out[3], 0, static_cast<double>(drops));
  Store(args.out[4], 0, static_cast<double>(extra_waves));
}

}  // namespace trireme
