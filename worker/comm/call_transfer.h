// All messages of one communicator call, advanced at once: every send and receive makes what
// progress it can, so no order of the ranks can block another. At most one receive is a reduction,
// which adds the members' blocks in a given order, chunk by chunk, while the rest still travels, or
// the call is a ring, which adds and sends on what it receives. Links with a limit are held to it.
#ifndef TRIREME_WORKER_COMM_CALL_TRANSFER_H_
#define TRIREME_WORKER_COMM_CALL_TRANSFER_H_

#include <poll.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/sharding/sharding.h"
#include "common/tensor/dtype.h"
#include "worker/comm/call.h"
#include "worker/comm/communicator.h"
#include "worker/comm/link.h"
#include "worker/comm/pacer.h"
#include "worker/comm/ring.h"

namespace trireme {

// One block from every member: out = own (+) others, in the order of `members`. `out` may be `own`.
struct Reduction {
  CallHeader header;
  DType dtype = DType::kFloat32;
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int32_t> members;  // ranks, this one included
  const void* own = nullptr;
  void* out = nullptr;
  int64_t count = 0;  // elements
};

// Pieces of the ring's stream sent at once.
inline constexpr int kRingParts = 8;

class CallTransfer {
 public:
  // `links` and `routes` (same size) are borrowed for the life of the transfer.
  CallTransfer(int32_t rank, const Links* links, const Routes* routes);

  // Forgets everything; to be called before a call's first message.
  void Clear();
  void Send(int32_t peer, const CallHeader& header, const void* data, int64_t bytes);
  void Receive(int32_t peer, const CallHeader& header, void* data, int64_t bytes);
  // One of these at most.
  void Reduce(Reduction reduction);
  void RunRing(Ring ring);

  // Moves what can be moved without waiting and sets *moved if that was anything.
  // Errors: kInternal for a peer that is in another call, naming both calls; otherwise the link's.
  // After an error failed_peer() tells whose link it was.
  Status Advance(bool* moved);
  bool done() const { return num_pending_ == 0; }
  int32_t failed_peer() const { return failed_peer_; }

  // Peers whose message has not begun to arrive; empty if all have begun. Looks once more at the
  // links first.
  StatusOr<std::vector<int32_t>> MissingPeers();
  // Peers of unfinished messages.
  std::vector<int32_t> PendingPeers() const;

  // What to wait for when Advance moved nothing.
  struct Waits {
    std::vector<pollfd> sockets;
    bool shared_memory = false;  // a peer that has no socket
    int64_t wake_ns = kNever;    // a limit frees bytes then (MonotonicNs)
    static constexpr int64_t kNever = INT64_MAX;
  };
  Waits ToWaitFor() const;
  // The call uses a link with a limit: looking again at once is of no use.
  bool paced() const { return paced_; }
  // The call uses no link through shared memory.
  bool only_sockets() const { return only_sockets_; }

  // Payload sent since the start. Thread-safe.
  CommBytes bytes_sent() const;

 private:
  struct Outgoing {
    CallHeader header;
    const char* data;
    int64_t bytes;
    int64_t sent;      // header included
    int64_t ready_ns;  // when it could have begun to travel; kept only with a limit
    bool ring;         // `data` is spread over the ring's buffers
  };
  struct Incoming {
    CallHeader header;  // expected
    char* data;
    int64_t bytes;
    CallHeader got;
    int64_t header_bytes;  // of `got`, so far
    int64_t received;      // payload
  };
  struct Queue {  // of one peer; messages of one direction go one after the other
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    size_t next_out = 0;
    size_t next_in = 0;
    bool listed = false;
    bool pipe_full = false;  // the last send wanted more than the pipe took
  };
  // Bytes of the ring's outgoing stream up to `end` (header included) are there since `ready_ns`.
  struct Mark {
    int64_t end;
    int64_t ready_ns;
  };

  Queue& QueueOf(int32_t peer);
  Status AdvanceSends(int32_t peer, bool* moved);
  // Bytes of the message that may go now.
  int64_t Sendable(int32_t peer, const Outgoing& message);
  int Gather(Outgoing& message, int64_t limit, iovec* parts) const;
  Status AdvanceReceives(int32_t peer, bool* moved);
  Status AdvanceReduction(bool* moved);
  // Receives header and payload up to `want` bytes into `data`, as far as they are there.
  Status ReceivePart(int32_t peer, Incoming* message, char* data, int64_t want, bool* moved);
  Status CheckHeader(int32_t peer, const Incoming& message);
  void FoldChunk(size_t member, const char* block, int64_t begin, int64_t count);
  int32_t reduction_peer() const;
  bool ReceivesFrom(int32_t peer) const;

  // The ring's part, in call_transfer_ring.cc.
  Status AdvanceRing(bool* moved);
  Status AdvanceRingSum(const RingSegment& segment, bool* moved);
  Status AdvanceRingCopy(const RingSegment& segment, bool* moved);
  void RingGrew(int64_t bytes);
  bool RingBufferIsFree(int64_t bytes) const;
  int GatherRing(int64_t from, int64_t limit, iovec* parts) const;

  int32_t rank_;
  const Links* links_;
  const Routes* routes_;
  std::vector<Queue> queues_;   // index = rank
  std::vector<int32_t> peers_;  // those with messages
  int64_t num_pending_ = 0;
  int32_t failed_peer_ = -1;
  bool paced_ = false;
  bool only_sockets_ = true;
  int64_t wake_ns_ = Waits::kNever;
  std::atomic<int64_t> ici_bytes_{0}, dcn_bytes_{0};

  Reduction reduction_;
  bool reducing_ = false;
  std::vector<Incoming> blocks_;   // one a member
  size_t member_ = 0;              // whose chunk is next
  int64_t chunk_begin_ = 0;        // elements
  const char* partial_ = nullptr;  // the chunk's result so far
  std::vector<char> accumulator_, arriving_;

  Ring ring_;
  bool in_ring_ = false;           // segments are still to come
  bool ring_blocked_ = false;      // a chunk waits for its place to be sent on
  Incoming ring_in_;               // the stream from the previous member
  size_t segment_ = 0;             // being received
  int64_t segment_begin_ = 0;      // in the stream, bytes
  int64_t segment_done_ = 0;       // bytes of it that are final
  std::vector<int64_t> part_end_;  // of `first` and the segments in the outgoing stream, bytes
  int64_t ring_ready_ = 0;         // of the outgoing stream, bytes
  std::vector<Mark> marks_;
  size_t next_mark_ = 0;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_CALL_TRANSFER_H_
