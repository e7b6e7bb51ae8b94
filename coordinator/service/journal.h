// What a job has said while it ran: log lines and step metrics, in memory, the newest ones only.
// Readers pull with a cursor, so a slow reader costs nothing.
#ifndef TRIREME_COORDINATOR_SERVICE_JOURNAL_H_
#define TRIREME_COORDINATOR_SERVICE_JOURNAL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "trireme/v1/jobs.pb.h"

namespace trireme {

inline constexpr size_t kMaxLogLines = 10000;
inline constexpr size_t kMaxLogLineBytes = 4096;  // longer ones are cut
inline constexpr size_t kMaxSteps = 100000;
// What single routers did is large: 66 KB a step with 58 layers of 256 experts. It is kept for the
// newest steps, and for those that are a multiple of kRouterStride.
inline constexpr int64_t kRouterSteps = 1000;
inline constexpr int64_t kRouterStride = 100;

class Journal {
 public:
  // Sets the sequence of the line.
  void AddLine(v1::LogLine line);
  // A step that is there already is replaced: a later attempt did it again.
  void AddStep(int64_t attempt, const v1::StepMetrics& metrics);

  // The first line with sequence > after, or null.
  const v1::LogLine* NextLine(int64_t after) const;
  // The sequence after which the newest `count` lines come; count <= 0: all.
  int64_t SequenceBefore(int64_t count) const;

  struct Step {
    int64_t attempt = 0;
    v1::StepMetrics metrics;
  };
  // The first step >= from, or null.
  const Step* NextStep(int64_t from) const;
  // Up to `count` steps up to the one that was added last, all of its attempt, oldest first.
  std::vector<const v1::StepMetrics*> NewestSteps(int64_t count) const;

 private:
  void ThinRouters();

  std::deque<v1::LogLine> lines_;
  int64_t next_sequence_ = 1;
  std::map<int64_t, Step> steps_;
  int64_t added_step_ = 0;    // by the last AddStep
  int64_t thinned_step_ = 0;  // all up to it have been through ThinRouters
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_JOURNAL_H_
