// The progress machine of one call. A reduction reads the members strictly in its order; what
// comes too early waits in the pipe, whose sender is held back by it, and that cannot deadlock: the
// pipe that is waited for is empty.
#include "worker/comm/call_transfer.h"

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

CallTransfer::CallTransfer(int32_t rank, const Links* links, const Routes* routes)
    : rank_(rank), links_(links), routes_(routes), queues_(links->size()) {
  CHECK(routes->size() == links->size()) << routes->size() << " " << links->size();
}

void CallTransfer::Clear() {
  for (const int32_t peer : peers_) {
    Queue& queue = queues_[peer];
    queue.out.clear();
    queue.in.clear();
    queue.next_out = queue.next_in = 0;
    queue.listed = false;
    queue.pipe_full = false;
  }
  peers_.clear();
  num_pending_ = 0;
  failed_peer_ = -1;
  reducing_ = false;
  in_ring_ = false;
  ring_blocked_ = false;
  paced_ = false;
  only_sockets_ = true;
  wake_ns_ = Waits::kNever;
}

CallTransfer::Queue& CallTransfer::QueueOf(int32_t peer) {
  CHECK(peer >= 0 && peer < static_cast<int32_t>(queues_.size()) && peer != rank_) << peer;
  Queue& queue = queues_[peer];
  if (!queue.listed) {
    queue.listed = true;
    peers_.push_back(peer);
    paced_ |= (*routes_)[peer].pacer != nullptr;
    only_sockets_ &= (*links_)[peer]->poll_fd() >= 0;
  }
  return queue;
}

void CallTransfer::Send(int32_t peer, const CallHeader& header, const void* data, int64_t bytes) {
  const int64_t ready_ns = (*routes_)[peer].pacer != nullptr ? MonotonicNs() : 0;
  QueueOf(peer).out.push_back(
      {header, static_cast<const char*>(data), bytes, 0, ready_ns, /*ring=*/false});
  ++num_pending_;
}

void CallTransfer::Receive(int32_t peer, const CallHeader& header, void* data, int64_t bytes) {
  QueueOf(peer).in.push_back({header, static_cast<char*>(data), bytes, CallHeader(), 0, 0});
  ++num_pending_;
}

void CallTransfer::Reduce(Reduction reduction) {
  CHECK(!reducing_ && !in_ring_);
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

Status CallTransfer::Advance(bool* moved) {
  wake_ns_ = Waits::kNever;
  for (const int32_t peer : peers_) {
    Status status = AdvanceSends(peer, moved);
    if (status.ok()) status = AdvanceReceives(peer, moved);
    if (!status.ok()) {
      failed_peer_ = peer;
      return status;
    }
  }
  if (reducing_) return AdvanceReduction(moved);
  if (in_ring_) return AdvanceRing(moved);
  return {};
}

int64_t CallTransfer::Sendable(int32_t peer, const Outgoing& message) {
  int64_t want = kHeaderBytes + (message.ring ? ring_ready_ : message.bytes) - message.sent;
  Pacer* pacer = (*routes_)[peer].pacer.get();
  if (pacer == nullptr || want == 0) return want;
  int64_t ready_ns = message.ready_ns;
  if (message.ring) {
    while (marks_[next_mark_].end <= message.sent) ++next_mark_;
    want = marks_[next_mark_].end - message.sent;
    ready_ns = marks_[next_mark_].ready_ns;
  }
  const int64_t granted = pacer->Grant(want, ready_ns, MonotonicNs());
  if (granted == 0) wake_ns_ = std::min(wake_ns_, pacer->wake_ns());
  return granted;
}

// The next `limit` bytes of the message, or fewer.
int CallTransfer::Gather(Outgoing& message, int64_t limit, iovec* parts) const {
  int num_parts = 0;
  if (message.sent < kHeaderBytes) {
    const int64_t bytes = std::min(kHeaderBytes - message.sent, limit);
    parts[num_parts++] = {reinterpret_cast<char*>(&message.header) + message.sent,
                          static_cast<size_t>(bytes)};
    limit -= bytes;
  }
  if (limit == 0) return num_parts;
  const int64_t from = std::max<int64_t>(message.sent - kHeaderBytes, 0);
  if (message.ring) return num_parts + GatherRing(from, limit, parts + num_parts);
  parts[num_parts++] = {const_cast<char*>(message.data) + from, static_cast<size_t>(limit)};
  return num_parts;
}

Status CallTransfer::AdvanceSends(int32_t peer, bool* moved) {
  Queue& queue = queues_[peer];
  const Route& route = (*routes_)[peer];
  queue.pipe_full = false;
  while (queue.next_out < queue.out.size()) {
    Outgoing& message = queue.out[queue.next_out];
    const int64_t limit = Sendable(peer, message);
    if (limit == 0) return {};
    iovec parts[1 + kRingParts];
    const int num_parts = Gather(message, limit, parts);
    ASSIGN_OR_RETURN(const int64_t sent, (*links_)[peer]->TrySend(parts, num_parts));
    if (sent == 0) {
      queue.pipe_full = true;
      if (route.pacer != nullptr) route.pacer->Stalled(MonotonicNs());
      return {};
    }
    *moved = true;
    const int64_t header_left = std::max<int64_t>(kHeaderBytes - message.sent, 0);
    const int64_t payload = std::max<int64_t>(sent - header_left, 0);
    std::atomic<int64_t>& counter = route.other_slice ? dcn_bytes_ : ici_bytes_;
    counter.fetch_add(payload, std::memory_order_relaxed);
    if (route.pacer != nullptr) route.pacer->Sent(sent);
    message.sent += sent;
    if (message.sent < kHeaderBytes + message.bytes) continue;
    ++queue.next_out;
    --num_pending_;
  }
  return {};
}

Status CallTransfer::CheckHeader(int32_t peer, const Incoming& message) {
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

Status CallTransfer::ReceivePart(int32_t peer, Incoming* message, char* data, int64_t want,
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

Status CallTransfer::AdvanceReceives(int32_t peer, bool* moved) {
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

int32_t CallTransfer::reduction_peer() const { return reduction_.members[member_]; }

// Takes member `member`'s part of the chunk into the partial result; the last one writes `out`. The
// first one is not copied, only pointed at. Own elements are read before the chunk of `out` is
// written, which may be the same memory.
void CallTransfer::FoldChunk(size_t member, const char* block, int64_t begin, int64_t count) {
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

Status CallTransfer::AdvanceReduction(bool* moved) {
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

StatusOr<std::vector<int32_t>> CallTransfer::MissingPeers() {
  std::vector<int32_t> missing;
  const auto look = [&](int32_t peer, Incoming* message) -> Status {
    bool moved = false;
    const Status status = ReceivePart(peer, message, nullptr, message->received, &moved);
    if (!status.ok()) failed_peer_ = peer;
    if (message->header_bytes == 0) missing.push_back(peer);
    return status;
  };
  for (const int32_t peer : peers_) {
    const Queue& queue = queues_[peer];
    if (queue.next_in < queue.in.size() && queue.in[queue.next_in].header_bytes == 0) {
      missing.push_back(peer);
    }
  }
  for (size_t i = 0; reducing_ && i < reduction_.members.size(); ++i) {
    if (reduction_.members[i] != rank_) {
      RETURN_IF_ERROR(look(reduction_.members[i], &blocks_[i]));
    }
  }
  if (in_ring_) RETURN_IF_ERROR(look(ring_.previous, &ring_in_));
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

// Whether bytes from the peer would be read now.
bool CallTransfer::ReceivesFrom(int32_t peer) const {
  const Queue& queue = queues_[peer];
  if (queue.next_in < queue.in.size()) return true;
  if (reducing_ && peer == reduction_peer()) return true;
  return in_ring_ && !ring_blocked_ && peer == ring_.previous;
}

std::vector<int32_t> CallTransfer::PendingPeers() const {
  std::vector<int32_t> pending;
  for (const int32_t peer : peers_) {
    const Queue& queue = queues_[peer];
    if (ReceivesFrom(peer) || queue.next_out < queue.out.size()) pending.push_back(peer);
  }
  if (reducing_) pending.push_back(reduction_peer());
  std::sort(pending.begin(), pending.end());
  pending.erase(std::unique(pending.begin(), pending.end()), pending.end());
  return pending;
}

CallTransfer::Waits CallTransfer::ToWaitFor() const {
  Waits waits;
  waits.wake_ns = wake_ns_;
  for (const int32_t peer : PendingPeers()) {
    short events = 0;
    if (queues_[peer].pipe_full) events |= POLLOUT;
    if (ReceivesFrom(peer)) events |= POLLIN;
    if (events == 0) continue;  // held by a limit, or what it sends is not there yet
    const int fd = (*links_)[peer]->poll_fd();
    if (fd < 0) {
      waits.shared_memory = true;
    } else {
      waits.sockets.push_back({fd, events, 0});
    }
  }
  return waits;
}

CommBytes CallTransfer::bytes_sent() const {
  return {ici_bytes_.load(std::memory_order_relaxed), dcn_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace trireme
