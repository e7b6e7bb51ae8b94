// The thread on which a rank's collectives run while its own thread computes. Jobs run one after
// the other in the order they were posted.
#ifndef TRIREME_WORKER_EXECUTOR_COMM_THREAD_H_
#define TRIREME_WORKER_EXECUTOR_COMM_THREAD_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "common/base/status.h"

namespace trireme {

class CommThread {
 public:
  CommThread();
  ~CommThread();  // waits for the job that runs; drops those that have not begun
  CommThread(const CommThread&) = delete;

  // After the first error no later job runs.
  void Post(std::function<Status()> job);
  int64_t posted() const { return posted_; }  // by the posting thread only
  // Returns when the first `count` jobs are over, with the first error of any.
  Status WaitFor(int64_t count);
  Status WaitForAll() { return WaitFor(posted_); }

 private:
  void Run();

  int64_t posted_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Status()>> jobs_;  // guarded by mutex_, as all below
  int64_t finished_ = 0;
  Status error_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses what stands above
};

}  // namespace trireme

#endif  // TRIREME_WORKER_EXECUTOR_COMM_THREAD_H_
