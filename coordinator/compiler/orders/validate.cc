// Proves a set of schedules by walking all stages at once, an exchange completing only when both
// sides stand at it.
#include <algorithm>
#include <map>
#include <tuple>

#include "coordinator/compiler/orders/order.h"

namespace trireme {
namespace {

// (from, to, gradient, microbatch)
using Message = std::tuple<int32_t, int32_t, bool, int32_t>;

class Walker {
 public:
  explicit Walker(const std::vector<StepSchedule>& schedules)
      : schedules_(schedules), at_(schedules.size(), 0), done_(schedules.size()) {}

  Status Run();

 private:
  // Advances stage `s` as far as it goes; true when it moved.
  bool Advance(size_t s);
  bool ExchangeDone(size_t s, const ScheduleItem& item);
  bool PeerOffers(int32_t peer, const Message& message, bool peer_sends) const;
  bool AllDone() const;

  const std::vector<StepSchedule>& schedules_;
  std::vector<size_t> at_;
  std::vector<std::map<Message, bool>>
      done_;  // by stage: messages of its exchanges that met their peer
};

bool Walker::PeerOffers(int32_t peer, const Message& message, bool peer_sends) const {
  const std::vector<ScheduleItem>& items = schedules_[peer].items;
  if (at_[peer] >= items.size() || items[at_[peer]].kind != ItemKind::kExchange) return false;
  const ScheduleItem& item = items[at_[peer]];
  const auto& [from, to, gradient, microbatch] = message;
  const int32_t other = peer_sends ? to : from;
  for (const Transfer& t : peer_sends ? item.sends : item.receives) {
    if (t.peer_stage == other && t.gradient == gradient && t.microbatch == microbatch) return true;
  }
  return false;
}

bool Walker::ExchangeDone(size_t s, const ScheduleItem& item) {
  const auto stage = static_cast<int32_t>(s);
  bool all = true;
  const auto meet = [&](const Transfer& t, bool sending) {
    const Message message = sending ? Message{stage, t.peer_stage, t.gradient, t.microbatch}
                                    : Message{t.peer_stage, stage, t.gradient, t.microbatch};
    if (done_[s].count(message) > 0) return;
    const bool known = t.peer_stage >= 0 && t.peer_stage < static_cast<int32_t>(schedules_.size());
    if (known && PeerOffers(t.peer_stage, message, !sending)) {
      done_[s][message] = true;
      done_[t.peer_stage][message] = true;
    } else {
      all = false;
    }
  };
  for (const Transfer& t : item.sends) meet(t, true);
  for (const Transfer& t : item.receives) meet(t, false);
  return all;
}

bool Walker::Advance(size_t s) {
  const std::vector<ScheduleItem>& items = schedules_[s].items;
  bool moved = false;
  while (at_[s] < items.size()) {
    const ScheduleItem& item = items[at_[s]];
    if (item.kind == ItemKind::kExchange && !ExchangeDone(s, item)) break;
    ++at_[s];
    moved = true;
  }
  return moved;
}

bool Walker::AllDone() const {
  for (size_t s = 0; s < schedules_.size(); ++s) {
    if (at_[s] < schedules_[s].items.size()) return false;
  }
  return true;
}

Status Walker::Run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t s = 0; s < schedules_.size(); ++s) moved = Advance(s) || moved;
  }
  if (AllDone()) return absl::OkStatus();
  std::string text = "the schedule deadlocks; stages stand at:";
  for (size_t s = 0; s < schedules_.size(); ++s) {
    text += "\n  stage " + std::to_string(s) + " item " + std::to_string(at_[s]) + " of " +
            schedules_[s].ToText();
  }
  return Internal(text);
}

Status Broken(int32_t stage, const std::string& what) {
  return Internal("schedule of stage " + std::to_string(stage) + ": " + what);
}

// Each microbatch once F, then once B, each with its inputs received before, and no slot held by
// two at once.
Status CheckStage(const StepSchedule& schedule, int32_t num_stages, int32_t num_microbatches) {
  std::map<int32_t, int32_t> live;  // microbatch -> slot
  std::map<std::pair<bool, int32_t>, bool> received;
  std::vector<int> backward(num_microbatches, 0);
  std::vector<int> forward(num_microbatches, 0);
  for (const ScheduleItem& item : schedule.items) {
    for (const Transfer& t : item.receives) received[{t.gradient, t.microbatch}] = true;
    if (item.kind != ItemKind::kRun || item.microbatch < 0) continue;
    const int32_t m = item.microbatch;
    const std::string name = std::string(Name(item.phase)) + std::to_string(m);
    if (m >= num_microbatches)
      return Broken(schedule.stage, name + " is beyond the last microbatch");
    if (item.slot < 0 || item.slot >= schedule.num_slots) {
      return Broken(schedule.stage, name + " has slot " + std::to_string(item.slot) + " of " +
                                        std::to_string(schedule.num_slots));
    }
    const bool is_forward = item.phase == Phase::kForward;
    const bool needs = is_forward ? schedule.stage > 0 : schedule.stage < num_stages - 1;
    if (needs && !received[{!is_forward, m}])
      return Broken(schedule.stage, name + " runs before its input arrives");
    if (is_forward) {
      for (const auto& [other, slot] : live) {
        if (slot == item.slot) {
          return Broken(schedule.stage, name + " takes slot " + std::to_string(slot) +
                                            " while microbatch " + std::to_string(other) +
                                            " holds it");
        }
      }
      live[m] = item.slot;
      ++forward[m];
    } else {
      if (live.count(m) == 0 || live[m] != item.slot)
        return Broken(schedule.stage, name + " without its F in that slot");
      live.erase(m);
      ++backward[m];
    }
  }
  for (int32_t m = 0; m < num_microbatches; ++m) {
    if (forward[m] != 1 || backward[m] != 1) {
      return Broken(schedule.stage, "microbatch " + std::to_string(m) + " runs F " +
                                        std::to_string(forward[m]) + " and B " +
                                        std::to_string(backward[m]) + " times");
    }
  }
  return absl::OkStatus();
}

}  // namespace

Status ValidateSchedules(const std::vector<StepSchedule>& schedules, int32_t num_microbatches) {
  for (const StepSchedule& schedule : schedules) {
    RETURN_IF_ERROR(CheckStage(schedule, static_cast<int32_t>(schedules.size()), num_microbatches));
  }
  return Walker(schedules).Run();
}

}  // namespace trireme
