// Collectives as one stream of blocks around a ring of members: each member sends to the next one
// only, and what it receives (and adds to) in one step it sends on in the following step, so every
// link carries (n-1)/n of the tensor once, or twice for all_reduce. Source: Patarasuk and Yuan,
// Bandwidth optimal all-reduce algorithms, 2009.
#ifndef TRIREME_WORKER_COMM_RING_H_
#define TRIREME_WORKER_COMM_RING_H_

#include <cstdint>
#include <vector>

#include "common/sharding/sharding.h"
#include "common/tensor/dtype.h"
#include "worker/comm/call.h"

namespace trireme {

// A block that comes from the previous member: data = received (+) own, or data = received where
// `own` is null. Sent on to the next member afterwards, unless it is the last one.
struct RingSegment {
  const char* own = nullptr;
  char* data = nullptr;
  int64_t count = 0;  // elements
};

// One member's part. `data` of all segments may be one buffer if no two segments are live at once
// otherwise: it is written again only where it has been sent on.
struct Ring {
  CallHeader header;
  DType dtype = DType::kFloat32;
  ReduceKind kind = ReduceKind::kSum;
  int32_t previous = 0;  // ranks
  int32_t next = 0;
  const char* first = nullptr;  // sent before the segments
  int64_t first_count = 0;      // elements
  std::vector<RingSegment> segments;
};

// What the rings of all collectives have in common. members >= 2.
struct RingCall {
  CallHeader header;
  DType dtype = DType::kFloat32;
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int32_t> members;  // ranks in group order
  int64_t place = 0;             // of this rank
};

// `in` holds one block of `count` elements a member. Sums on their way to others pass through
// `forward` (one block), which may be `out` if that does not overlap `in`.
Ring ReduceScatterRing(const RingCall& call, const char* in, int64_t count, char* forward,
                       char* out);

// `out` holds one block of `count` elements a member; this member's is there.
Ring AllGatherRing(const RingCall& call, char* out, int64_t count);

// In place on `count` elements, in blocks of BlockOf: a reduce_scatter and an all_gather in one
// stream.
Ring AllReduceRing(const RingCall& call, char* data, int64_t count);

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_RING_H_
