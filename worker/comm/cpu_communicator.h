// The communicator of CPU ranks, over any links. Inside shared memory every member talks to every
// other one; large reductions and gathers over sockets go around a ring. All messages of a call
// advance together in one loop, and sums are taken in the same order on both ways, so the bits
// depend neither on the transport nor on timing. Built by Connect (bootstrap.h).
#ifndef TRIREME_WORKER_COMM_CPU_COMMUNICATOR_H_
#define TRIREME_WORKER_COMM_CPU_COMMUNICATOR_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/comm/call.h"
#include "worker/comm/call_transfer.h"
#include "worker/comm/communicator.h"
#include "worker/comm/flight_recorder.h"
#include "worker/comm/link.h"
#include "worker/comm/pacer.h"
#include "worker/comm/ring.h"
#include "worker/comm/shared_segment.h"

namespace trireme {

// Everything the communicator stands on.
struct CpuCommunicatorParts {
  int32_t rank = 0;
  Links links;                                      // index = rank, own entry null
  Routes routes;                                    // index = rank; empty = one worker, no limits
  std::unique_ptr<std::atomic<int64_t>[]> buckets;  // of the routes' pacers, if not the segment's
  std::unique_ptr<SharedSegment> segment;           // null without peers on the same worker
  int32_t local_rank = 0;                           // of this rank in the segment
  std::chrono::milliseconds call_deadline{600000};
  FlightRecorder* recorder = nullptr;  // may be null; must outlive the communicator
};

// One thread makes the calls; Abort may come from any.
//
// Errors of all calls: kInvalidArgument before anything is sent (wrong group or sizes; the
// communicator stays usable); kDeadlineExceeded naming the ranks that did not arrive; kUnavailable
// naming a rank that is gone; kAborted with the rank that aborted and its reason; kInternal when a
// peer is in another call, naming both (peers then get kAborted). After an error other than
// kInvalidArgument every later call fails with it.
class CpuCommunicator final : public Communicator {
 public:
  explicit CpuCommunicator(CpuCommunicatorParts parts);
  ~CpuCommunicator() override;

  int32_t rank() const override { return rank_; }
  int32_t size() const override { return static_cast<int32_t>(links_.size()); }

  Status AllReduce(const GroupRanks& group, DType dtype, ReduceKind kind, Span data) override;
  Status AllGather(const GroupRanks& group, DType dtype, ConstSpan in, Span out) override;
  Status ReduceScatter(const GroupRanks& group, DType dtype, ReduceKind kind, ConstSpan in,
                       Span out) override;
  Status AllToAll(const GroupRanks& group, DType dtype, ConstSpan in, Span out) override;
  Status Exchange(const std::vector<PeerMessage>& sends,
                  const std::vector<PeerMessage>& receives) override;
  Status Barrier(const GroupRanks& group) override;
  void Abort(const std::string& reason) override;
  CommBytes bytes_sent() const override { return transfer_.bytes_sent(); }
  void SetProgress(int64_t step, int32_t item, int32_t instruction) override;

 private:
  using Clock = std::chrono::steady_clock;

  // The parts of a call, with its messages in transfer_.
  Status AllReduceSmall(const GroupRanks& group, const CallHeader& header, ReduceKind kind,
                        Span data);
  Status AllReduceDirect(const GroupRanks& group, const CallHeader& header, ReduceKind kind,
                         Span data);
  Status ReduceScatterRingwise(const RingCall& call, ConstSpan in, Span out);
  // Whether a call on `bytes` in all goes around the ring; the same on all members.
  bool GoesAround(const GroupRanks& group, int64_t bytes) const;
  // Runs the ring of a call whose members number more than one.
  Status Around(const RingCall& call, Ring ring);
  Status SendAndReceive(const CallHeader& header, const std::vector<PeerMessage>& sends,
                        const std::vector<PeerMessage>& receives);

  // Errors: kInvalidArgument. Result: this rank's place in the group.
  StatusOr<int64_t> PlaceIn(const GroupRanks& group) const;
  CallHeader NextCall(CommOp op, const GroupRanks& group, int64_t bytes);
  // Runs a call's body between the flight recorder's marks and keeps its error for later calls.
  template <typename Body>
  Status RunCall(const CallHeader& header, Body body);

  // Advances all messages of transfer_ until done, error, abort or the deadline of the call.
  Status ExchangeAll(const CallHeader& header);
  Status Wait(Clock::duration idle, Clock::time_point now);
  Status SleepForWork(Clock::time_point now);
  Status CheckAborted(bool look_at_links);
  Status LinkFailed(const CallHeader& header, const Status& status);
  Status DeadlinePassed(const CallHeader& header);
  std::string SecondsText() const;

  int32_t rank_;
  Links links_;
  Routes routes_;
  std::unique_ptr<std::atomic<int64_t>[]> buckets_;
  std::unique_ptr<SharedSegment> segment_;
  int32_t local_rank_;
  std::chrono::milliseconds call_deadline_;
  FlightRecorder* recorder_;
  bool has_sockets_ = false;

  CallTransfer transfer_;
  Clock::time_point deadline_;  // of the call
  std::vector<char> staging_;   // the input of a small all_reduce
  std::vector<char> forward_;   // sums passing through an in-place reduce_scatter
  std::map<int32_t, uint64_t> group_calls_;
  uint64_t num_exchanges_ = 0;
  std::vector<uint64_t> sent_to_, received_from_;  // exchange messages, index = peer
  Status broken_;

  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string abort_reason_;  // guarded by abort_mutex_
};

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_CPU_COMMUNICATOR_H_
