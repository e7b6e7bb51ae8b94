// Stages run until they wait; a message that finds its other side wakes it.
#include "coordinator/compiler/orders/timeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace trireme {
namespace {

class Simulator {
 public:
  Simulator(const std::vector<StepSchedule>& schedules, const ScheduleCosts& costs)
      : schedules_(schedules), costs_(costs), stages_(schedules.size()) {
    timeline_.busy.assign(schedules.size(), 0);
    for (const StepSchedule& schedule : schedules)
      timeline_.items.emplace_back(schedule.items.size());
  }

  Timeline Run();

 private:
  // (from, to, gradient, edge, microbatch)
  using Message = std::tuple<int32_t, int32_t, bool, int32_t, int32_t>;
  struct Posted {
    bool sending = false;
    double time = 0;
  };
  struct Stage {
    size_t at = 0;
    double time = 0;
    bool exchanging = false;
    size_t waiting = 0;  // messages of the exchange that have not met
    double met = 0;      // of those that have
    double end = 0;
  };

  // Goes on with a stage as far as it gets.
  void Advance(size_t s);
  void Begin(size_t s, const ScheduleItem& item);
  void Post(size_t s, const Transfer& transfer, bool sending);
  void Meet(size_t s, double met, double end);

  const std::vector<StepSchedule>& schedules_;
  const ScheduleCosts& costs_;
  std::vector<Stage> stages_;
  std::vector<size_t> awake_;
  std::map<Message, Posted> posted_;                         // one side only, so far
  std::map<std::pair<int32_t, int32_t>, double> link_free_;  // (from, to)
  Timeline timeline_;
};

void Simulator::Meet(size_t s, double met, double end) {
  Stage& stage = stages_[s];
  stage.met = std::max(stage.met, met);
  stage.end = std::max(stage.end, end);
  if (--stage.waiting == 0) awake_.push_back(s);
}

void Simulator::Post(size_t s, const Transfer& transfer, bool sending) {
  const auto own = static_cast<int32_t>(s);
  const int32_t from = sending ? own : transfer.peer_stage;
  const int32_t to = sending ? transfer.peer_stage : own;
  const Message message = {from, to, transfer.gradient, transfer.edge, transfer.microbatch};
  const auto other = posted_.find(message);
  if (other == posted_.end()) {
    posted_[message] = {sending, stages_[s].time};
    return;
  }
  if (other->second.sending == sending) return;
  double& free = link_free_[{from, to}];
  const double met = std::max({stages_[s].time, other->second.time, free});
  free = met + costs_.transfer(from, to, transfer.gradient);
  posted_.erase(other);
  Meet(s, met, free);
  Meet(transfer.peer_stage, met, free);
}

void Simulator::Begin(size_t s, const ScheduleItem& item) {
  Stage& stage = stages_[s];
  stage.exchanging = true;
  stage.waiting = item.sends.size() + item.receives.size();
  stage.met = stage.time;
  stage.end = stage.time;
  if (stage.waiting == 0) awake_.push_back(s);
  for (const Transfer& send : item.sends) Post(s, send, true);
  for (const Transfer& receive : item.receives) Post(s, receive, false);
}

void Simulator::Advance(size_t s) {
  Stage& stage = stages_[s];
  const std::vector<ScheduleItem>& items = schedules_[s].items;
  while (stage.at < items.size()) {
    const ScheduleItem& item = items[stage.at];
    ItemTimes& times = timeline_.items[s][stage.at];
    if (item.kind == ItemKind::kExchange && !stage.exchanging) {
      times.start = stage.time;
      Begin(s, item);
      return;
    }
    if (item.kind == ItemKind::kExchange) {
      if (stage.waiting > 0) return;
      stage.exchanging = false;
      times.met = stage.met;
      times.end = stage.end;
    } else {
      const double cost = costs_.run(static_cast<int32_t>(s), item.phase, item.chunk);
      times = {stage.time, stage.time, stage.time + cost};
      timeline_.busy[s] += cost;
    }
    stage.time = times.end;
    ++stage.at;
  }
}

// Most slots in use at once. A chunk's microbatch holds one from the first item that names it to
// the last; one that an exchange empties may be filled by the same exchange.
int32_t PeakSlots(const StepSchedule& schedule) {
  std::map<std::pair<int32_t, int32_t>, std::pair<size_t, size_t>> spans;
  for (size_t i = 0; i < schedule.items.size(); ++i) {
    const ScheduleItem& item = schedule.items[i];
    const auto name = [&](int32_t chunk, int32_t microbatch) {
      spans.emplace(std::make_pair(chunk, microbatch), std::make_pair(i, i)).first->second.second =
          i;
    };
    if (item.kind == ItemKind::kRun && item.microbatch >= 0) name(item.chunk, item.microbatch);
    for (const Transfer& t : item.sends) name(t.chunk, t.microbatch);
    for (const Transfer& t : item.receives) name(t.chunk, t.microbatch);
  }
  std::vector<int32_t> change(schedule.items.size() + 1, 0);
  for (const auto& [work, span] : spans) {
    ++change[span.first];
    --change[span.second];
  }
  int32_t live = 0;
  int32_t peak = 0;
  for (const int32_t by : change) peak = std::max(peak, live += by);
  return peak;
}

Timeline Simulator::Run() {
  for (size_t s = 0; s < stages_.size(); ++s) awake_.push_back(s);
  while (!awake_.empty()) {
    const size_t s = awake_.back();
    awake_.pop_back();
    Advance(s);
  }
  double busy = 0;
  for (size_t s = 0; s < stages_.size(); ++s) {
    timeline_.complete = timeline_.complete && stages_[s].at == schedules_[s].items.size();
    timeline_.makespan = std::max(timeline_.makespan, stages_[s].time);
    timeline_.peak_slots.push_back(PeakSlots(schedules_[s]));
    busy += timeline_.busy[s];
  }
  const double all = timeline_.makespan * static_cast<double>(stages_.size());
  timeline_.bubble = all > 0 ? 1 - busy / all : 0;
  return std::move(timeline_);
}

}  // namespace

ScheduleCosts EqualCosts(bool splits_weight_grad) {
  return {[splits_weight_grad](int32_t, Phase phase, int32_t) {
            if (phase == Phase::kBackward) return splits_weight_grad ? 1.0 : 2.0;
            return phase == Phase::kForward || phase == Phase::kWeightGrad ? 1.0 : 0.0;
          },
          [](int32_t, int32_t, bool) { return 0.0; }};
}

Timeline SimulateSchedules(const std::vector<StepSchedule>& schedules, const ScheduleCosts& costs) {
  return Simulator(schedules, costs).Run();
}

}  // namespace trireme
