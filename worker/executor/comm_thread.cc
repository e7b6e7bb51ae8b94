// A queue under a mutex: a job is a collective, so the lock costs nothing beside it.
#include "worker/executor/comm_thread.h"

#include <utility>

namespace trireme {

CommThread::CommThread() : thread_([this] { Run(); }) {}

CommThread::~CommThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CommThread::Post(std::function<Status()> job) {
  ++posted_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

Status CommThread::WaitFor(int64_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return finished_ >= count; });
  return error_;
}

void CommThread::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    const std::function<Status()> job = std::move(jobs_.front());
    jobs_.pop_front();
    const bool failed = !error_.ok();
    lock.unlock();
    const Status status = failed ? absl::OkStatus() : job();
    lock.lock();
    if (error_.ok()) error_ = status;
    ++finished_;
    changed_.notify_all();
  }
}

}  // namespace trireme
