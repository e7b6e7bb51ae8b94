// The last communicator calls of a rank, in a file mapped by the rank and readable by others while
// the rank is stuck or after it died. One writer that never waits; readers drop an entry that is
// being written.
#ifndef TRIREME_WORKER_COMM_FLIGHT_RECORDER_H_
#define TRIREME_WORKER_COMM_FLIGHT_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/comm/call.h"

namespace trireme {

inline constexpr int kFlightRecords = 64;

enum class CallState : int32_t { kStarted = 1, kDone = 2, kFailed = 3 };

// Where in the schedule a rank is.
struct Progress {
  int64_t step = -1;
  int32_t item = -1;  // of the step schedule
  int32_t instruction = -1;
};

struct CallRecord {
  uint64_t sequence = 0;
  CommOp op = CommOp::kBarrier;
  int32_t group = kNoGroup;
  int64_t bytes = 0;
  CallState state = CallState::kStarted;
  Progress progress;
  int64_t start_ns = 0;  // since the epoch, so that other processes can compute ages
  int64_t end_ns = 0;    // 0 while it runs
};

// What a reader sees.
struct FlightRecording {
  int32_t rank = 0;
  Progress progress;              // now
  std::vector<CallRecord> calls;  // oldest first, at most kFlightRecords
};

// One line a call: "all_reduce #17 group=3 bytes=4096 started step=5 item=2 instruction=9
// age=10.2s".
std::string ToText(const FlightRecording& recording, int64_t now_ns);

class FlightRecorder {
 public:
  // Creates or overwrites the file. Errors: kInvalidArgument naming the path.
  static StatusOr<std::unique_ptr<FlightRecorder>> Create(const std::string& path, int32_t rank);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  // All by one thread.
  void SetProgress(const Progress& progress);
  void Start(const CallHeader& call, int64_t now_ns);
  void Finish(bool ok, int64_t now_ns);

 private:
  struct File;
  explicit FlightRecorder(File* file) : file_(file) {}
  friend StatusOr<FlightRecording> ReadFlightRecorder(const std::string& path);

  File* file_;
};

// Errors: kNotFound without the file, kInvalidArgument if it is no recording.
StatusOr<FlightRecording> ReadFlightRecorder(const std::string& path);

// Nanoseconds since the epoch.
int64_t WallClockNs();

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_FLIGHT_RECORDER_H_
