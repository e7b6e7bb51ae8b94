// The progress machine of one call. A reduction reads the members strictly in group order; what
// comes too early waits in the pipe, whose sender is held back by it, and that cannot deadlock: the
// pipe that is waited for is empty.
#include "worker/comm/transfer.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "common/base/check.h"
#include "worker/comm/combine.h"

namespace trireme {
namespace {

// Two chunks and a ring fit into a core's private cache.
constexpr int64_t kChunkBytes = 64 << 10;
constexpr int64_t kHeaderBytes = sizeof(CallHeader);

}  // namespace

Transfer::Transfer(int32_t rank, const Links* links)
    : rank_(rank), links_(links), queues_(links->size()) {}

void Transfer::Clear() {
  for (const int32_t peer : peers_) {
    Queue& queue = queues_[peer];
    queue.out.clear();
    queue.in.clear();
    queue.next_out = queue.next_in = 0;
    queue.listed = false;
  }
  peers_.clear();
  num_pending_ = 0;
  failed_peer_ = -1;
  reducing_ = false;
}

Transfer::Queue& Transfer::QueueOf(int32_t peer) {
  CHECK(peer >= 0 && peer < static_cast<int32_t>(queues_.size()) && peer != rank_) << peer;
  Queue& queue = queues_[peer];
  if (!queue.listed) {
    queue.listed = true;
    peers_.push_back(peer);
  }
  return queue;
}

void Transfer::Send(int32_t peer, const CallHeader& header, const void* data, int64_t bytes) {
  QueueOf(peer).out.push_back({header, static_cast<const char*>(data), bytes, 0});
  ++num_pending_;
}

void Transfer::Receive(int32_t peer, const CallHeader& header, void* data, int64_t bytes) {
  QueueOf(peer).in.push_back({header, static_cast<char*>(data), bytes, CallHeader(), 0, 0});
  ++num_pending_;
}

void Transfer::Reduce(Reduction reduction) {
  CHECK(!reducing_);
  reduction_ = std::move(reduction);
  reducing_ = true;
  ++num_pending_;
  const int64_t bytes = reduction_.count * SizeOf(reduction_.dtype);
  blocks_.assign(reduction_.members.size(),
                 {reduction_.header, nullptr, bytes, CallHeader(), 0, 0});
  member_ = 0;
  chunk_begin_ = 0;
  if (accumulator_.empty()) {
    accumulator_.resize(kChunkBytes);
    arriving_.resize(kChunkBytes);
  }
}

Status Transfer::Advance(bool* moved) {
  for (const int32_t peer : peers_) {
    Status status = AdvanceSends(peer, moved);
    if (status.ok()) status = AdvanceReceives(peer, moved);
    if (!status.ok()) {
      failed_peer_ = peer;
      return status;
    }
  }
  if (reducing_) return AdvanceReduction(moved);
  return {};
}

Status Transfer::AdvanceSends(int32_t peer, bool* moved) {
  Queue& queue = queues_[peer];
  while (queue.next_out < queue.out.size()) {
    Outgoing& message = queue.out[queue.next_out];
    iovec parts[2];
    int num_parts = 0;
    if (message.sent < kHeaderBytes) {
      parts[num_parts++] = {reinterpret_cast<char*>(&message.header) + message.sent,
                            static_cast<size_t>(kHeaderBytes - message.sent)};
    }
    const int64_t payload_sent = std::max<int64_t>(message.sent - kHeaderBytes, 0);
    if (payload_sent < message.bytes) {
      parts[num_parts++] = {const_cast<char*>(message.data) + payload_sent,
                            static_cast<size_t>(message.bytes - payload_sent)};
    }
    ASSIGN_OR_RETURN(const int64_t sent, (*links_)[peer]->TrySend(parts, num_parts));
    if (sent == 0) return {};
    *moved = true;
    message.sent += sent;
    if (message.sent < kHeaderBytes + message.bytes) return {};
    ++queue.next_out;
    --num_pending_;
  }
  return {};
}

Status Transfer::CheckHeader(int32_t peer, const Incoming& message) {
  if (message.got == message.header) return {};
  std::ostringstream out;
  out << "rank " << rank_ << " is in " << ToText(message.header) << ", rank " << peer << " sent ";
  if (message.got.magic == kCallMagic) {
    out << ToText(message.got);
  } else {
    out << "bytes that are no call header";
  }
  out << "; all members must make the same calls in the same order";
  return Internal(out.str());
}

Status Transfer::ReceivePart(int32_t peer, Incoming* message, char* data, int64_t want,
                             bool* moved) {
  while (message->header_bytes < kHeaderBytes || message->received < want) {
    iovec parts[2];
    int num_parts = 0;
    const int64_t header_left = kHeaderBytes - message->header_bytes;
    if (header_left > 0) {
      parts[num_parts++] = {reinterpret_cast<char*>(&message->got) + message->header_bytes,
                            static_cast<size_t>(header_left)};
    }
    if (message->received < want) {
      parts[num_parts++] = {data, static_cast<size_t>(want - message->received)};
    }
    ASSIGN_OR_RETURN(const int64_t got, (*links_)[peer]->TryRecv(parts, num_parts));
    if (got == 0) return {};
    *moved = true;
    const int64_t to_header = std::min(got, header_left);
    message->header_bytes += to_header;
    message->received += got - to_header;
    data += got - to_header;
    if (to_header > 0 && message->header_bytes == kHeaderBytes) {
      RETURN_IF_ERROR(CheckHeader(peer, *message));
    }
  }
  return {};
}

Status Transfer::AdvanceReceives(int32_t peer, bool* moved) {
  Queue& queue = queues_[peer];
  while (queue.next_in < queue.in.size()) {
    Incoming& message = queue.in[queue.next_in];
    RETURN_IF_ERROR(
        ReceivePart(peer, &message, message.data + message.received, message.bytes, moved));
    if (message.header_bytes < kHeaderBytes || message.received < message.bytes) return {};
    ++queue.next_in;
    --num_pending_;
  }
  return {};
}

int32_t Transfer::reduction_peer() const { return reduction_.members[member_]; }

// Takes member `member`'s part of the chunk into the partial result; the last one writes `out`. The
// first one is not copied, only pointed at. Own elements are read before the chunk of `out` is
// written, which may be the same memory.
void Transfer::FoldChunk(size_t member, const char* block, int64_t begin, int64_t count) {
  const bool last = member + 1 == reduction_.members.size();
  if (member == 0) {
    partial_ = block;
    return;
  }
  char* out = last ? static_cast<char*>(reduction_.out) + begin * SizeOf(reduction_.dtype)
                   : accumulator_.data();
  Combine(reduction_.dtype, reduction_.kind, partial_, block, out, count);
  partial_ = out;
}

Status Transfer::AdvanceReduction(bool* moved) {
  const int64_t size = SizeOf(reduction_.dtype);
  const int64_t chunk = kChunkBytes / size;
  for (;;) {
    const int64_t count = std::min(chunk, reduction_.count - chunk_begin_);
    for (; member_ < reduction_.members.size(); ++member_) {
      const int32_t peer = reduction_peer();
      if (peer == rank_) {
        FoldChunk(member_, static_cast<const char*>(reduction_.own) + chunk_begin_ * size,
                  chunk_begin_, count);
        continue;
      }
      Incoming& block = blocks_[member_];
      const int64_t want = (chunk_begin_ + count) * size;
      char* buffer = member_ == 0 ? accumulator_.data() : arriving_.data();
      const Status status =
          ReceivePart(peer, &block, buffer + (block.received - chunk_begin_ * size), want, moved);
      if (!status.ok()) {
        failed_peer_ = peer;
        return status;
      }
      if (block.header_bytes < kHeaderBytes || block.received < want) return {};
      FoldChunk(member_, buffer, chunk_begin_, count);
    }
    member_ = 0;
    chunk_begin_ += count;
    if (chunk_begin_ >= reduction_.count) break;
  }
  reducing_ = false;
  --num_pending_;
  return {};
}

StatusOr<std::vector<int32_t>> Transfer::MissingPeers() {
  std::vector<int32_t> missing;
  for (const int32_t peer : peers_) {
    const Queue& queue = queues_[peer];
    if (queue.next_in < queue.in.size() && queue.in[queue.next_in].header_bytes == 0) {
      missing.push_back(peer);
    }
  }
  for (size_t i = 0; reducing_ && i < reduction_.members.size(); ++i) {
    const int32_t peer = reduction_.members[i];
    if (peer == rank_) continue;
    bool moved = false;
    const Status status = ReceivePart(peer, &blocks_[i], nullptr, blocks_[i].received, &moved);
    if (!status.ok()) {
      failed_peer_ = peer;
      return status;
    }
    if (blocks_[i].header_bytes == 0) missing.push_back(peer);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

std::vector<int32_t> Transfer::PendingPeers() const {
  std::vector<int32_t> pending;
  for (const int32_t peer : peers_) {
    const Queue& queue = queues_[peer];
    if (queue.next_in < queue.in.size() || queue.next_out < queue.out.size()) {
      pending.push_back(peer);
    }
  }
  if (reducing_) pending.push_back(reduction_peer());
  std::sort(pending.begin(), pending.end());
  pending.erase(std::unique(pending.begin(), pending.end()), pending.end());
  return pending;
}

bool Transfer::AppendPoll(std::vector<pollfd>* entries) const {
  bool all = true;
  for (const int32_t peer : PendingPeers()) {
    const int fd = (*links_)[peer]->poll_fd();
    const Queue& queue = queues_[peer];
    short events = 0;
    if (queue.next_out < queue.out.size()) events |= POLLOUT;
    if (queue.next_in < queue.in.size() || (reducing_ && peer == reduction_peer())) {
      events |= POLLIN;
    }
    if (fd < 0) {
      all = false;
    } else {
      entries->push_back({fd, events, 0});
    }
  }
  return all;
}

}  // namespace trireme
