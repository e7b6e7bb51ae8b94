// Tells how long a rank has made no progress and in which call it is, from its flight recorder.
#ifndef TRIREME_WORKER_AGENT_STUCK_WATCH_H_
#define TRIREME_WORKER_AGENT_STUCK_WATCH_H_

#include <cstdint>
#include <map>
#include <string>

#include "trireme/v1/workers.pb.h"
#include "worker/comm/flight_recorder.h"

namespace trireme {

class StuckWatch {
 public:
  // A rank without progress for `stuck_ms` is called stuck.
  explicit StuckWatch(int64_t stuck_ms = 30000) : stuck_ms_(stuck_ms) {}

  // Fills no_progress_s and, if the rank is stuck in a call, stuck_in. `path` names the rank for
  // the watch.
  void Look(const std::string& path, const FlightRecording& recording, int64_t now_ms,
            int64_t wall_ns, v1::RankBeat& beat);
  void Forget(const std::string& path) { seen_.erase(path); }

 private:
  struct Seen {
    std::string mark;  // of progress and calls
    int64_t since_ms = 0;
  };
  const int64_t stuck_ms_;
  std::map<std::string, Seen> seen_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_STUCK_WATCH_H_
