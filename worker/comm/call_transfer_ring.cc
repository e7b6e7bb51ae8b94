// The ring of a call: one stream comes from the previous member, chunks of it are added to, and
// what is final becomes part of the stream to the next member. Both streams are lists of the same
// blocks, the outgoing one by `first` ahead, so a member that has sent nothing can always send.
#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "worker/comm/call_transfer.h"
#include "worker/comm/combine.h"

namespace trireme {
namespace {

constexpr int64_t kHeaderBytes = sizeof(CallHeader);

// A chunk is added while the next one travels. Small blocks are cut too, so that the following
// member can begin early.
constexpr int64_t kMaxRingChunk = 64 << 10;
constexpr int64_t kMinRingChunk = 4 << 10;
// Of what is only passed on: so much is read before it is sent.
constexpr int64_t kCopyBytes = 256 << 10;

int64_t ChunkBytes(int64_t segment_bytes) {
  return std::clamp(segment_bytes / 4 / 64 * 64, kMinRingChunk, kMaxRingChunk);
}

}  // namespace

void CallTransfer::RunRing(Ring ring) {
  CHECK(!reducing_ && !in_ring_ && !ring.segments.empty());
  ring_ = std::move(ring);
  in_ring_ = true;
  ring_blocked_ = false;
  const int64_t size = SizeOf(ring_.dtype);
  int64_t in_bytes = 0;
  part_end_.assign(1, ring_.first_count * size);
  for (const RingSegment& segment : ring_.segments) {
    in_bytes += segment.count * size;
    part_end_.push_back(part_end_.back() + segment.count * size);
  }
  part_end_.pop_back();  // the last segment is not sent on
  ring_in_ = {ring_.header, nullptr, in_bytes, CallHeader(), 0, 0};
  segment_ = 0;
  segment_begin_ = segment_done_ = 0;
  ring_ready_ = part_end_.front();
  const int64_t now_ns = (*routes_)[ring_.next].pacer != nullptr ? MonotonicNs() : 0;
  marks_.assign(1, {kHeaderBytes + ring_ready_, now_ns});
  next_mark_ = 0;
  arriving_.resize(std::max<size_t>(arriving_.size(), kMaxRingChunk));
  QueueOf(ring_.previous);
  QueueOf(ring_.next)
      .out.push_back({ring_.header, nullptr, part_end_.back(), 0, now_ns, /*ring=*/true});
  num_pending_ += 2;
}

// The next bytes of the outgoing stream, at most `limit`, which are there.
int CallTransfer::GatherRing(int64_t from, int64_t limit, iovec* parts) const {
  size_t part = std::upper_bound(part_end_.begin(), part_end_.end(), from) - part_end_.begin();
  int num_parts = 0;
  while (limit > 0 && num_parts < kRingParts && part < part_end_.size()) {
    const int64_t begin = part == 0 ? 0 : part_end_[part - 1];
    const char* data = part == 0 ? ring_.first : ring_.segments[part - 1].data;
    const int64_t bytes = std::min(limit, part_end_[part] - from);
    if (bytes > 0) {
      parts[num_parts++] = {const_cast<char*>(data) + (from - begin), static_cast<size_t>(bytes)};
    }
    from += bytes;
    limit -= bytes;
    ++part;
  }
  return num_parts;
}

// `bytes` more of the incoming stream are final, and can be sent on.
void CallTransfer::RingGrew(int64_t bytes) {
  segment_done_ += bytes;
  const int64_t ready = std::min(ring_ready_ + bytes, part_end_.back());
  if (ready > ring_ready_ && (*routes_)[ring_.next].pacer != nullptr) {
    marks_.push_back({kHeaderBytes + ready, MonotonicNs()});
  }
  ring_ready_ = ready;
}

// Whether the first `bytes` of the current segment's memory may be overwritten: the segment before
// it, if it stands in the same memory, has been sent on so far.
bool CallTransfer::RingBufferIsFree(int64_t bytes) const {
  if (segment_ == 0 || ring_.segments[segment_].data != ring_.segments[segment_ - 1].data) {
    return true;
  }
  const Queue& queue = queues_[ring_.next];
  const auto message = std::find_if(queue.out.begin(), queue.out.end(),
                                    [](const Outgoing& out) { return out.ring; });
  return message->sent - kHeaderBytes >= part_end_[segment_ - 1] + bytes;
}

// One chunk at most: what it makes ready is sent before the next one is read.
Status CallTransfer::AdvanceRingSum(const RingSegment& segment, bool* moved) {
  const int64_t size = SizeOf(ring_.dtype);
  const int64_t bytes = segment.count * size;
  const int64_t chunk = std::min(ChunkBytes(bytes), bytes - segment_done_);
  const int64_t begin = segment_begin_ + segment_done_;
  RETURN_IF_ERROR(ReceivePart(ring_.previous, &ring_in_,
                              arriving_.data() + (ring_in_.received - begin), begin + chunk,
                              moved));
  if (ring_in_.header_bytes < kHeaderBytes || ring_in_.received < begin + chunk) return {};
  ring_blocked_ = !RingBufferIsFree(segment_done_ + chunk);
  if (ring_blocked_) return {};
  Combine(ring_.dtype, ring_.kind, arriving_.data(), segment.own + segment_done_,
          segment.data + segment_done_, chunk / size);
  RingGrew(chunk);
  *moved = true;
  return {};
}

Status CallTransfer::AdvanceRingCopy(const RingSegment& segment, bool* moved) {
  const int64_t before = ring_in_.received;
  const int64_t end = segment_begin_ + segment.count * SizeOf(ring_.dtype);
  RETURN_IF_ERROR(ReceivePart(ring_.previous, &ring_in_, segment.data + (before - segment_begin_),
                              std::min(end, before + kCopyBytes), moved));
  if (ring_in_.received > before) RingGrew(ring_in_.received - before);
  return {};
}

Status CallTransfer::AdvanceRing(bool* moved) {
  const RingSegment& segment = ring_.segments[segment_];
  const Status status =
      segment.own != nullptr ? AdvanceRingSum(segment, moved) : AdvanceRingCopy(segment, moved);
  if (!status.ok()) {
    failed_peer_ = ring_.previous;
    return status;
  }
  const int64_t bytes = segment.count * SizeOf(ring_.dtype);
  if (ring_in_.header_bytes < kHeaderBytes || segment_done_ < bytes) return {};
  segment_begin_ += bytes;
  segment_done_ = 0;
  if (++segment_ < ring_.segments.size()) return {};
  in_ring_ = false;
  --num_pending_;
  return {};
}

}  // namespace trireme
