// Followers are woken under the lock, which is what makes Remove final.
#include "coordinator/service/notifier.h"

namespace trireme {

void Notifier::Add(const std::string& job, Wakeable* follower) {
  const std::lock_guard lock(mutex_);
  followers_[job].insert(follower);
}

void Notifier::Remove(const std::string& job, Wakeable* follower) {
  const std::lock_guard lock(mutex_);
  const auto found = followers_.find(job);
  if (found == followers_.end()) return;
  found->second.erase(follower);
  if (found->second.empty()) followers_.erase(found);
}

void Notifier::Wake(const std::set<std::string>& jobs) {
  const std::lock_guard lock(mutex_);
  for (const std::string& job : jobs) {
    const auto found = followers_.find(job);
    if (found == followers_.end()) continue;
    for (Wakeable* follower : found->second) follower->Wake();
  }
}

void Notifier::WakeAll() {
  const std::lock_guard lock(mutex_);
  for (const auto& [job, followers] : followers_) {
    for (Wakeable* follower : followers) follower->Wake();
  }
}

}  // namespace trireme
