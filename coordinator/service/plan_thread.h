// One thread for requests that plan, so that they do not hold up the threads that serve beats and
// streams.
#ifndef TRIREME_COORDINATOR_SERVICE_PLAN_THREAD_H_
#define TRIREME_COORDINATOR_SERVICE_PLAN_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"

namespace trireme {

class PlanThread {
 public:
  explicit PlanThread(size_t max_waiting = 64);
  ~PlanThread();  // runs what waits, then ends

  // False if too many wait already.
  bool TryRun(std::function<void()> work);

 private:
  void Loop();

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_PLAN_THREAD_H_
