// Wakes those who follow a job. Never called under the coordinator's lock: whoever is woken may
// take it.
#ifndef TRIREME_COORDINATOR_SERVICE_NOTIFIER_H_
#define TRIREME_COORDINATOR_SERVICE_NOTIFIER_H_

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"

namespace trireme {

class Wakeable {
 public:
  virtual ~Wakeable() = default;
  // Something may be new, or time has passed. Must not call the notifier.
  virtual void Wake() = 0;
};

class Notifier {
 public:
  void Add(const std::string& job, Wakeable* follower);
  // After it returns, the follower is not being woken and never will be.
  void Remove(const std::string& job, Wakeable* follower);
  void Wake(const std::set<std::string>& jobs);
  void WakeAll();

 private:
  std::mutex mutex_;
  std::map<std::string, std::set<Wakeable*>> followers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_NOTIFIER_H_
