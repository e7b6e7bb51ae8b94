// Lines have consecutive sequences, so finding one is arithmetic.
#include "coordinator/service/journal.h"

#include <algorithm>

namespace trireme {

void Journal::AddLine(v1::LogLine line) {
  line.set_sequence(next_sequence_++);
  if (line.text().size() > kMaxLogLineBytes) {
    line.mutable_text()->resize(kMaxLogLineBytes - 3);
    line.mutable_text()->append("...");
  }
  lines_.push_back(std::move(line));
  if (lines_.size() > kMaxLogLines) lines_.pop_front();
}

void Journal::AddStep(int64_t attempt, const v1::StepMetrics& metrics) {
  steps_[metrics.step()] = {attempt, metrics};
  if (steps_.size() > kMaxSteps) steps_.erase(steps_.begin());
  added_step_ = metrics.step();
  thinned_step_ = std::min(thinned_step_, added_step_ - 1);
  ThinRouters();
}

void Journal::ThinRouters() {
  for (auto it = steps_.upper_bound(thinned_step_);
       it != steps_.end() && it->first <= added_step_ - kRouterSteps; ++it) {
    thinned_step_ = it->first;
    if (it->first % kRouterStride == 0) continue;
    google::protobuf::RepeatedPtrField<v1::RouterMetrics> freed;  // clear() would keep the memory
    freed.Swap(it->second.metrics.mutable_routers());
  }
}

const v1::LogLine* Journal::NextLine(int64_t after) const {
  if (lines_.empty() || after >= lines_.back().sequence()) return nullptr;
  const int64_t first = lines_.front().sequence();
  return &lines_[std::max(after + 1, first) - first];
}

int64_t Journal::SequenceBefore(int64_t count) const {
  return count <= 0 ? 0 : std::max<int64_t>(0, next_sequence_ - 1 - count);
}

const Journal::Step* Journal::NextStep(int64_t from) const {
  const auto found = steps_.lower_bound(from);
  return found == steps_.end() ? nullptr : &found->second;
}

std::vector<const v1::StepMetrics*> Journal::NewestSteps(int64_t count) const {
  std::vector<const v1::StepMetrics*> newest;
  int64_t attempt = 0;
  for (auto it = steps_.upper_bound(added_step_); it != steps_.begin();) {
    --it;
    if (newest.empty()) attempt = it->second.attempt;
    if (static_cast<int64_t>(newest.size()) == count || it->second.attempt != attempt) break;
    newest.push_back(&it->second.metrics);
  }
  std::reverse(newest.begin(), newest.end());
  return newest;
}

}  // namespace trireme
