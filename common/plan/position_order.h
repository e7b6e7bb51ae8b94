// Where positions stand when a sequence is split over context-parallel ranks. Zig-zag: of 2n equal
// pieces, shard r holds pieces r and 2n - 1 - r, so that every shard has the same causal work.
// Brandon et al. 2023 (striped attention, arXiv:2311.09431) name the imbalance; the pairing is
// Llama 3's (arXiv:2407.21783, 3.3.2).
#ifndef TRIREME_COMMON_PLAN_POSITION_ORDER_H_
#define TRIREME_COMMON_PLAN_POSITION_ORDER_H_

#include <cstdint>

namespace trireme {

// The position of the sequence that stands at index `index` of `length`. `shards` 1 = in order;
// otherwise `length` is a multiple of 2 * shards.
inline int64_t PositionAt(int64_t index, int64_t length, int64_t shards) {
  if (shards <= 1) return index;
  const int64_t piece = length / (2 * shards);
  const int64_t shard = index / (2 * piece);
  const int64_t within = index % (2 * piece);
  if (within < piece) return shard * piece + within;
  return (2 * shards - 1 - shard) * piece + (within - piece);
}

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_POSITION_ORDER_H_
