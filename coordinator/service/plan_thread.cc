// A bounded queue and its one consumer.
#include "coordinator/service/plan_thread.h"

#include <utility>

namespace trireme {

PlanThread::PlanThread(size_t max_waiting)
    : max_waiting_(max_waiting), thread_([this] { Loop(); }) {}

PlanThread::~PlanThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool PlanThread::TryRun(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= max_waiting_) return false;
    waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
  return true;
}

void PlanThread::Loop() {
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace trireme
