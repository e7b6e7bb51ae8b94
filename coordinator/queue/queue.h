// The waiting jobs in the order they came. The first one starts as soon as its gang has devices; a
// job that the connected workers could never hold does not keep the others waiting. Pure.
#ifndef TRIREME_COORDINATOR_QUEUE_QUEUE_H_
#define TRIREME_COORDINATOR_QUEUE_QUEUE_H_

#include <optional>
#include <string>
#include <vector>

#include "coordinator/queue/gang.h"

namespace trireme {

class JobQueue {
 public:
  struct Start {
    std::string job;
    Gang gang;
  };
  struct Wait {
    std::string job;
    std::string reason;  // everything it waits for
  };
  struct Decision {
    std::optional<Start> start;  // taken out of the queue
    std::vector<Wait> waits;     // every job that stays and was looked at or stands behind one
  };

  void Push(const std::string& job, const GangDemand& demand);
  void Remove(const std::string& job);  // no effect if it is not there

  // At most one job starts a call: take its devices, then call again.
  Decision Choose(const WorkerMap& workers);

 private:
  struct Entry {
    std::string job;
    GangDemand demand;
  };
  std::vector<Entry> entries_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_QUEUE_QUEUE_H_
