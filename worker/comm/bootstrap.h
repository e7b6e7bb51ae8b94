// Makes the communicator of one attempt: maps the worker's shared segment, connects to the ranks of
// other workers, and refuses whoever belongs to another attempt or does not know the attempt's
// token.
#ifndef TRIREME_WORKER_COMM_BOOTSTRAP_H_
#define TRIREME_WORKER_COMM_BOOTSTRAP_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/comm/communicator.h"
#include "worker/comm/flight_recorder.h"
#include "worker/comm/pacer.h"
#include "worker/comm/shared_segment.h"
#include "worker/comm/socket.h"

namespace trireme {

// Longest token, bytes.
inline constexpr size_t kMaxTokenBytes = 128;

struct PeerInfo {
  std::string worker;  // ranks with the same worker id share memory
  // "ip:port" of its Listener; may be empty if no higher rank is on another worker.
  std::string address;
  int64_t slice = 0;  // workers of one slice share ICI, others are reached over DCN
};

struct CommunicatorOptions {
  int32_t rank = 0;
  std::vector<PeerInfo> peers;  // index = rank, this one included; the same on all ranks

  // Takes the connections of higher ranks on other workers; needed if there are any. Borrowed for
  // Connect only.
  Listener* listener = nullptr;

  // The segment of this worker (SharedSegment::Create by the daemon), needed if another rank is on
  // this worker: a descriptor, or a path if that is not empty. Local ranks are the worker's ranks
  // in rank order.
  int shared_fd = -1;
  std::string shared_path;

  int64_t attempt = 0;
  std::string token;  // secret of the attempt, at most kMaxTokenBytes

  // On what this worker sends to each other worker of its slice, and of another one; the same on
  // all ranks. All ranks of the worker together are held to it.
  FabricLimit ici, dcn;

  std::chrono::milliseconds connect_deadline{30000};
  std::chrono::milliseconds call_deadline{600000};  // of every later call
  FlightRecorder* recorder = nullptr;               // may be null; must outlive the communicator
};

// Every rank calls it at about the same time; returns when all connections of this rank stand. A
// higher rank connects to a lower one. Errors: kInvalidArgument for the options;
// kFailedPrecondition when a peer refuses this rank or the segment is of another attempt, with both
// attempt numbers; kUnavailable and kDeadlineExceeded naming the missing ranks, and whom this rank
// refused meanwhile.
StatusOr<std::unique_ptr<Communicator>> Connect(const CommunicatorOptions& options);

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_BOOTSTRAP_H_
