// Work runs outside the lock, so it may post more.
#include "worker/agent/inbox.h"

#include <chrono>
#include <utility>

namespace trireme {

void Inbox::Post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Inbox::Run(int64_t wait_ms) {
  std::deque<std::function<void()>> work;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return !work_.empty(); });
    work.swap(work_);
  }
  for (const std::function<void()>& item : work) item();
}

InboxThread::InboxThread()
    : thread_([this] {
        while (!stopping_) inbox_.Run(1000);
      }) {}

InboxThread::~InboxThread() {
  inbox_.Post([this] { stopping_ = true; });
  thread_.join();
}

}  // namespace trireme
