// The shared memory of the ranks of one worker: a ring of bytes for every ordered pair of ranks, a
// doorbell per rank for those who sleep, what limited links share, and one abort slot through which
// a rank, or the worker daemon for a dead rank, ends the calls of all others. The daemon creates
// it, every rank maps it.
#ifndef TRIREME_WORKER_COMM_SHARED_SEGMENT_H_
#define TRIREME_WORKER_COMM_SHARED_SEGMENT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"

namespace trireme {

// Bytes of the segment of a worker with `num_local_ranks` ranks; untouched pages cost nothing.
int64_t SharedSegmentBytes(int32_t num_local_ranks);

// One direction between two ranks. head and tail count bytes since the start; one writer each.
struct ShmRing {
  alignas(64) std::atomic<uint64_t> head;  // written by the sender
  alignas(64) std::atomic<uint64_t> tail;  // written by the receiver
};

enum class AbortKind : uint32_t {
  kAborted = 1,  // the rank called Abort
  kGone = 2,     // the process ended without a word; said by the daemon
};

// What stands in the abort slot.
struct SharedAbort {
  AbortKind kind = AbortKind::kAborted;
  int32_t rank = 0;
  std::string reason;
};

class SharedSegment {
 public:
  // A new segment in anonymous memory (memfd). Pass fd() to the ranks, by dup2 in the child or as
  // /proc/<pid>/fd/<fd>; the descriptor is close-on-exec. Fresh for every attempt: nothing of an
  // older one remains.
  static StatusOr<std::unique_ptr<SharedSegment>> Create(int32_t num_local_ranks, int64_t attempt);

  // Maps an existing segment; `fd` stays the caller's and may be closed afterwards.
  // Errors: kInvalidArgument if it is none or of another size, kFailedPrecondition if it belongs to
  // another attempt.
  static StatusOr<std::unique_ptr<SharedSegment>> Open(int fd, int32_t num_local_ranks,
                                                       int64_t attempt);
  static StatusOr<std::unique_ptr<SharedSegment>> OpenPath(const std::string& path,
                                                           int32_t num_local_ranks,
                                                           int64_t attempt);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  int fd() const { return fd_; }  // -1 for an opened segment
  int32_t num_local_ranks() const { return num_local_ranks_; }

  // The ring from local rank `from` to local rank `to`, and its bytes.
  ShmRing* ring(int32_t from, int32_t to) const;
  char* ring_data(int32_t from, int32_t to) const;
  int64_t ring_bytes() const { return ring_bytes_; }

  // Until when the way to another worker is taken, for Pacer. Workers whose numbers are equal
  // modulo kNumBuckets share one.
  static constexpr int32_t kNumBuckets = 512;
  std::atomic<int64_t>* bucket(int32_t worker) const;

  // Ends all calls of all ranks of the segment; the first one wins. `rank` is the global rank.
  // Thread-safe.
  void Abort(AbortKind kind, int32_t rank, const std::string& reason);
  bool aborted() const;
  SharedAbort abort() const;  // only if aborted()

  // Marks that a local rank will neither send nor read any more, and wakes the others.
  void Close(int32_t local_rank);
  bool closed(int32_t local_rank) const;

  // Sleeping: key = PrepareSleep(me); look for work once more; then Sleep, or CancelSleep if there
  // was work.
  uint32_t PrepareSleep(int32_t local_rank);
  void CancelSleep(int32_t local_rank);
  void Sleep(int32_t local_rank, uint32_t key, std::chrono::microseconds limit);
  // Wakes the rank if it sleeps or is about to; call it after every change it may wait for.
  void Wake(int32_t local_rank);

 private:
  struct Header;
  struct RankState;
  SharedSegment(int fd, void* base, int32_t num_local_ranks);

  Header* header() const;
  RankState* state(int32_t local_rank) const;
  static StatusOr<std::unique_ptr<SharedSegment>> Map(int map_fd, int owned_fd,
                                                      int32_t num_local_ranks);

  int fd_;
  char* base_;
  int32_t num_local_ranks_;
  int64_t ring_bytes_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_SHARED_SEGMENT_H_
