// Work for one thread from many: closures in the order they came; and a thread that does nothing
// but such work.
#ifndef TRIREME_WORKER_AGENT_INBOX_H_
#define TRIREME_WORKER_AGENT_INBOX_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"

namespace trireme {

class Inbox {
 public:
  void Post(std::function<void()> work);
  // Runs what has come; waits up to `wait_ms` for the first.
  void Run(int64_t wait_ms);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
};

// Runs what is posted, one after the other. Its end waits for what was posted.
class InboxThread {
 public:
  InboxThread();
  ~InboxThread();
  void Post(std::function<void()> work) { inbox_.Post(std::move(work)); }

 private:
  Inbox inbox_;
  bool stopping_ = false;  // by the thread only
  std::thread thread_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_INBOX_H_
