// What a rank did when, as Chrome trace events (chrome://tracing, Perfetto): computation on one
// track, transfers on another, so that one sees which of them ran at the same time.
#ifndef TRIREME_WORKER_EXECUTOR_TRACE_H_
#define TRIREME_WORKER_EXECUTOR_TRACE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace trireme {

enum class TraceTrack : uint8_t { kCompute = 0, kTransfer = 1 };

struct TraceEvent {
  TraceTrack track = TraceTrack::kCompute;
  std::string name;      // "block.F layer 2 #7 dot"
  int64_t start_ns = 0;  // wall clock since the epoch, so that ranks can be laid side by side
  int64_t end_ns = 0;
};

class TraceRecorder {
 public:
  explicit TraceRecorder(int64_t rank) : rank_(rank) {}

  void Add(TraceEvent event);  // thread-safe
  std::vector<TraceEvent> events() const;
  std::string ToJson() const;
  // Errors: kUnavailable naming the path.
  Status Write(const std::string& path) const;

 private:
  const int64_t rank_;
  mutable std::mutex mutex_;
  std::vector<TraceEvent> events_;  // guarded by mutex_
};

// Nanoseconds in which both tracks were busy.
int64_t OverlapNs(const std::vector<TraceEvent>& events);

}  // namespace trireme

#endif  // TRIREME_WORKER_EXECUTOR_TRACE_H_
