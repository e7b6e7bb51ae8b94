// Single producer, single consumer rings of bytes. head and tail are stored with sequential
// consistency because the sleeping flag of the peer is read right after (see SharedSegment::Wake).
#include "worker/comm/shm_link.h"

#include <string.h>

#include <algorithm>
#include <sstream>

namespace trireme {
namespace {

// Published at once, so that the reader starts while the writer copies the rest.
constexpr uint64_t kStepBytes = 64 << 10;

}  // namespace

ShmLink::ShmLink(SharedSegment* segment, int32_t self, int32_t peer, int32_t peer_rank)
    : segment_(segment),
      peer_(peer),
      peer_rank_(peer_rank),
      capacity_(segment->ring_bytes()),
      out_(segment->ring(self, peer)),
      in_(segment->ring(peer, self)),
      out_data_(segment->ring_data(self, peer)),
      in_data_(segment->ring_data(peer, self)),
      out_head_(out_->head.load()),
      out_tail_(out_->tail.load()),
      in_head_(in_->head.load()),
      in_tail_(in_->tail.load()) {}

Status ShmLink::PeerClosed() const {
  std::ostringstream out;
  out << "rank " << peer_rank_ << " has closed its communicator";
  return Unavailable(out.str());
}

StatusOr<int64_t> ShmLink::TrySend(const iovec* parts, int num_parts) {
  if (out_head_ - out_tail_ == capacity_) {
    out_tail_ = out_->tail.load();
    if (out_head_ - out_tail_ == capacity_) {
      if (segment_->closed(peer_)) return PeerClosed();
      return 0;
    }
  }
  uint64_t room = std::min(capacity_ - (out_head_ - out_tail_), kStepBytes);
  const uint64_t begin = out_head_;
  for (int i = 0; i < num_parts && room > 0; ++i) {
    const char* from = static_cast<const char*>(parts[i].iov_base);
    uint64_t left = std::min<uint64_t>(parts[i].iov_len, room);
    room -= left;
    while (left > 0) {
      const uint64_t at = out_head_ % capacity_;
      const uint64_t piece = std::min(left, capacity_ - at);
      memcpy(out_data_ + at, from, piece);
      from += piece;
      out_head_ += piece;
      left -= piece;
    }
  }
  if (out_head_ == begin) return 0;
  out_->head.store(out_head_);
  segment_->Wake(peer_);
  return static_cast<int64_t>(out_head_ - begin);
}

StatusOr<int64_t> ShmLink::TryRecv(const iovec* parts, int num_parts) {
  if (in_head_ == in_tail_) {
    in_head_ = in_->head.load();
    if (in_head_ == in_tail_) {
      if (!segment_->closed(peer_)) return 0;
      in_head_ = in_->head.load();  // what it sent before it closed
      if (in_head_ == in_tail_) return PeerClosed();
    }
  }
  uint64_t available = std::min(in_head_ - in_tail_, kStepBytes);
  const uint64_t begin = in_tail_;
  for (int i = 0; i < num_parts && available > 0; ++i) {
    char* to = static_cast<char*>(parts[i].iov_base);
    uint64_t left = std::min<uint64_t>(parts[i].iov_len, available);
    available -= left;
    while (left > 0) {
      const uint64_t at = in_tail_ % capacity_;
      const uint64_t piece = std::min(left, capacity_ - at);
      memcpy(to, in_data_ + at, piece);
      to += piece;
      in_tail_ += piece;
      left -= piece;
    }
  }
  if (in_tail_ == begin) return 0;
  in_->tail.store(in_tail_);
  segment_->Wake(peer_);
  return static_cast<int64_t>(in_tail_ - begin);
}

}  // namespace trireme
