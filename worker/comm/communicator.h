// What ranks say to each other: collectives over groups of ranks and point-to-point exchanges,
// every call with a deadline. Reductions add in an order that only the group decides (see
// blocks.h), so results do not depend on where ranks run. An abort, a peer's death or a passed
// deadline ends every later call with an error.
//
// The order: the block that member b ends up with is ((x[b+1] + x[b+2]) + ...) + x[b], indices
// modulo the members. all_reduce of more than kSmallCallBytes is cut into blocks by BlockOf and
// follows the same rule; a smaller one is ((x[0] + x[1]) + ...) + x[n-1].
#ifndef TRIREME_WORKER_COMM_COMMUNICATOR_H_
#define TRIREME_WORKER_COMM_COMMUNICATOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/sharding/sharding.h"
#include "common/tensor/dtype.h"

namespace trireme {

// A contiguous piece of memory and what it holds.
struct Span {
  void* data = nullptr;
  int64_t count = 0;  // elements
};
struct ConstSpan {
  const void* data = nullptr;
  int64_t count = 0;
};

// Ranks in group order. `id` is the same number on all members and unique among the groups of the
// plan: it is checked on the wire, so that two members in different calls get an error that names
// both calls instead of wrong numbers.
struct GroupRanks {
  int32_t id = 0;
  std::vector<int32_t> ranks;
};

struct PeerMessage {
  int32_t peer = 0;  // rank
  int32_t tag = 0;   // same on both sides; messages between two ranks arrive in order
  void* data = nullptr;
  int64_t bytes = 0;
};

// Payload that this rank sent to others, without headers.
struct CommBytes {
  int64_t ici = 0;  // to ranks of its slice, through shared memory too
  int64_t dcn = 0;  // to ranks of other slices
  bool operator==(const CommBytes&) const = default;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int32_t rank() const = 0;
  virtual int32_t size() const = 0;

  // data[i] = reduction over the group of data[i]. float32, float64 and int32.
  virtual Status AllReduce(const GroupRanks& group, DType dtype, ReduceKind kind, Span data) = 0;
  // out = concatenation of the members' `in` in group order; out.count = members * in.count.
  virtual Status AllGather(const GroupRanks& group, DType dtype, ConstSpan in, Span out) = 0;
  // out = reduction of block `my index` of the members' `in`; in.count = members * out.count.
  virtual Status ReduceScatter(const GroupRanks& group, DType dtype, ReduceKind kind, ConstSpan in,
                               Span out) = 0;
  // Block j of `in` goes to member j; block i of `out` comes from member i. Equal counts.
  virtual Status AllToAll(const GroupRanks& group, DType dtype, ConstSpan in, Span out) = 0;
  // All sends and receives of one moment; returns when all are done. May name a peer several times.
  virtual Status Exchange(const std::vector<PeerMessage>& sends,
                          const std::vector<PeerMessage>& receives) = 0;
  virtual Status Barrier(const GroupRanks& group) = 0;

  // Makes pending and later calls of this rank, and soon of its peers, return kAborted with
  // `reason`. Thread-safe.
  virtual void Abort(const std::string& reason) = 0;

  // Since the start. Thread-safe.
  virtual CommBytes bytes_sent() const { return {}; }

  // Where in the schedule this rank is, for the flight recorder. Costs a few stores.
  virtual void SetProgress(int64_t step, int32_t item, int32_t instruction) {}
};

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_COMMUNICATOR_H_
