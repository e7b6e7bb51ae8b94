// All messages of one communicator call, advanced at once: every send and receive makes what
// progress it can, so no order of the ranks can block another. At most one receive is a reduction,
// which adds the members' blocks in group order, chunk by chunk, while the rest still travels.
#ifndef TRIREME_WORKER_COMM_TRANSFER_H_
#define TRIREME_WORKER_COMM_TRANSFER_H_

#include <poll.h>

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/sharding/sharding.h"
#include "common/tensor/dtype.h"
#include "worker/comm/call.h"
#include "worker/comm/link.h"

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

class Transfer {
 public:
  // `links` is borrowed for the life of the transfer.
  Transfer(int32_t rank, const Links* links);

  // Forgets everything; to be called before a call's first message.
  void Clear();
  void Send(int32_t peer, const CallHeader& header, const void* data, int64_t bytes);
  void Receive(int32_t peer, const CallHeader& header, void* data, int64_t bytes);
  void Reduce(Reduction reduction);

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
  // Adds the descriptors of unfinished messages; returns false if some have none (shared memory).
  bool AppendPoll(std::vector<pollfd>* entries) const;

 private:
  struct Outgoing {
    CallHeader header;
    const char* data;
    int64_t bytes;
    int64_t sent;  // header included
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
  };

  Queue& QueueOf(int32_t peer);
  Status AdvanceSends(int32_t peer, bool* moved);
  Status AdvanceReceives(int32_t peer, bool* moved);
  Status AdvanceReduction(bool* moved);
  // Receives header and payload up to `want` bytes into `data`, as far as they are there.
  Status ReceivePart(int32_t peer, Incoming* message, char* data, int64_t want, bool* moved);
  Status CheckHeader(int32_t peer, const Incoming& message);
  void FoldChunk(size_t member, const char* block, int64_t begin, int64_t count);
  int32_t reduction_peer() const;

  int32_t rank_;
  const Links* links_;
  std::vector<Queue> queues_;   // index = rank
  std::vector<int32_t> peers_;  // those with messages
  int64_t num_pending_ = 0;
  int32_t failed_peer_ = -1;

  Reduction reduction_;
  bool reducing_ = false;
  std::vector<Incoming> blocks_;   // one a member
  size_t member_ = 0;              // whose chunk is next
  int64_t chunk_begin_ = 0;        // elements
  const char* partial_ = nullptr;  // the chunk's result so far
  std::vector<char> accumulator_, arriving_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_TRANSFER_H_
