// First come, first served; see the header for the one exception.
#include "coordinator/queue/queue.h"

#include <algorithm>

namespace trireme {

void JobQueue::Push(const std::string& job, const GangDemand& demand) {
  entries_.push_back({job, demand});
}

void JobQueue::Remove(const std::string& job) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.job == job; });
}

JobQueue::Decision JobQueue::Choose(const WorkerMap& workers) {
  Decision decision;
  std::string head;  // the first job that could run later: nothing overtakes it
  for (const Entry& entry : entries_) {
    GangDecision placed = PlaceGang(entry.demand, workers);
    if (placed.gang.has_value() && head.empty() && !decision.start.has_value()) {
      decision.start = Start{entry.job, *std::move(placed.gang)};
      continue;
    }
    std::string reason = placed.gang.has_value() ? "its devices are free" : placed.reason;
    if (!head.empty()) {
      reason += "; behind " + head + " in the queue";
    } else if (decision.start.has_value()) {
      reason += "; " + decision.start->job + " starts first";
    }
    if (head.empty() && placed.possible_later) head = entry.job;
    decision.waits.push_back({entry.job, reason});
  }
  if (decision.start.has_value()) Remove(decision.start->job);
  return decision;
}

}  // namespace trireme
