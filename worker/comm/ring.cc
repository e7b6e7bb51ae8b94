// Which block comes when: in step s of a reduction member i receives block i - 2 - s, whose sum
// began at the member behind the block and ends at the block's own member; in step s of a gather it
// receives block i - 1 - s.
#include "worker/comm/ring.h"

#include "common/base/check.h"
#include "worker/comm/blocks.h"

namespace trireme {
namespace {

int64_t Wrap(int64_t index, int64_t members) { return ((index % members) + members) % members; }

Ring Begin(const RingCall& call) {
  const auto n = static_cast<int64_t>(call.members.size());
  CHECK(n >= 2 && call.place >= 0 && call.place < n) << call.place << " of " << n;
  Ring ring;
  ring.header = call.header;
  ring.dtype = call.dtype;
  ring.kind = call.kind;
  ring.previous = call.members[Wrap(call.place - 1, n)];
  ring.next = call.members[Wrap(call.place + 1, n)];
  return ring;
}

}  // namespace

Ring ReduceScatterRing(const RingCall& call, const char* in, int64_t count, char* forward,
                       char* out) {
  Ring ring = Begin(call);
  const auto n = static_cast<int64_t>(call.members.size());
  const int64_t bytes = count * SizeOf(call.dtype);
  ring.first = in + Wrap(call.place - 1, n) * bytes;
  ring.first_count = count;
  for (int64_t step = 0; step < n - 1; ++step) {
    const int64_t block = Wrap(call.place - 2 - step, n);
    ring.segments.push_back({in + block * bytes, step == n - 2 ? out : forward, count});
  }
  return ring;
}

Ring AllGatherRing(const RingCall& call, char* out, int64_t count) {
  Ring ring = Begin(call);
  const auto n = static_cast<int64_t>(call.members.size());
  const int64_t bytes = count * SizeOf(call.dtype);
  ring.first = out + call.place * bytes;
  ring.first_count = count;
  for (int64_t step = 0; step < n - 1; ++step) {
    ring.segments.push_back({nullptr, out + Wrap(call.place - 1 - step, n) * bytes, count});
  }
  return ring;
}

Ring AllReduceRing(const RingCall& call, char* data, int64_t count) {
  Ring ring = Begin(call);
  const auto n = static_cast<int64_t>(call.members.size());
  const int64_t size = SizeOf(call.dtype);
  const auto block_of = [&](int64_t index) { return BlockOf(count, n, Wrap(index, n)); };
  const Block first = block_of(call.place - 1);
  ring.first = data + first.begin * size;
  ring.first_count = first.count;
  for (int64_t step = 0; step < n - 1; ++step) {
    const Block block = block_of(call.place - 2 - step);
    char* at = data + block.begin * size;
    ring.segments.push_back({at, at, block.count});
  }
  for (int64_t step = 0; step < n - 1; ++step) {
    const Block block = block_of(call.place - 1 - step);
    ring.segments.push_back({nullptr, data + block.begin * size, block.count});
  }
  return ring;
}

}  // namespace trireme
