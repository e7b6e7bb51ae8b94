// All ranks of a communicator as threads of one process: for tests, benchmarks and single-process
// tools. The links are the real ones.
#ifndef TRIREME_WORKER_COMM_LOCAL_GROUP_H_
#define TRIREME_WORKER_COMM_LOCAL_GROUP_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "worker/comm/bootstrap.h"
#include "worker/comm/communicator.h"

namespace trireme {

enum class Transport {
  kShm,    // one worker
  kTcp,    // a worker per rank
  kMixed,  // two workers: even and odd ranks
};

// "shm", "tcp", "mixed".
std::string_view Name(Transport transport);

struct LocalGroupOptions {
  int64_t attempt = 1;
  std::chrono::milliseconds connect_deadline{60000};
  std::chrono::milliseconds call_deadline{60000};
  std::vector<FlightRecorder*> recorders = {};  // empty or one a rank
  std::vector<int64_t> slices = {};             // empty (one slice) or one a rank
  FabricLimit ici = {}, dcn = {};
};

// What the ranks of one process need to connect to each other; must outlive the calls of Connect.
class LocalGroup {
 public:
  static StatusOr<std::unique_ptr<LocalGroup>> Create(int32_t size, Transport transport,
                                                      const LocalGroupOptions& options = {});

  // To be passed to Connect by the thread (or, after fork, process) of the rank.
  CommunicatorOptions OptionsOf(int32_t rank);
  // The segment that the rank maps; null if it shares memory with nobody.
  SharedSegment* segment_of(int32_t rank);

 private:
  LocalGroup() = default;

  LocalGroupOptions options_;
  std::vector<Listener> listeners_;
  std::vector<PeerInfo> peers_;
  std::vector<std::unique_ptr<SharedSegment>> segments_;  // one a worker
  std::vector<int32_t> worker_of_;                        // index = rank
};

using RankFunction = std::function<Status(Communicator&)>;

// Runs `function` on every rank at the same time; the result of rank i, or why it could not
// connect, is entry i. A rank's communicator is closed when its function returns.
std::vector<Status> RunRanks(int32_t size, Transport transport, const RankFunction& function,
                             const LocalGroupOptions& options = {});

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_LOCAL_GROUP_H_
