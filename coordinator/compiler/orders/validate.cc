// One walk along each stage's items that follows what every slot holds, then one over all stages.
#include "coordinator/compiler/orders/validate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "coordinator/compiler/orders/grid.h"
#include "coordinator/compiler/orders/timeline.h"

namespace trireme {
namespace {

struct Fault {
  size_t stage = 0;
  size_t item = 0;
  std::string reason;
};
using MaybeFault = std::optional<Fault>;
using MaybeReason = std::optional<std::string>;

std::string ItemText(const ScheduleItem& item) { return StepSchedule{.items = {item}}.ToText(); }

std::string WorkText(int32_t chunk, int32_t microbatch) {
  return "microbatch " + std::to_string(microbatch) + " of chunk " + std::to_string(chunk);
}

class StageWalk {
 public:
  StageWalk(const StepSchedule& schedule, int32_t stage, const ScheduleLayout& layout)
      : schedule_(schedule),
        stage_(stage),
        layout_(layout),
        works_(size_t{1} * layout.num_chunks * layout.num_microbatches),
        holder_(std::max<int32_t>(schedule.num_slots, 0), -1) {}

  MaybeFault Run();

 private:
  // What has happened to a microbatch of a chunk.
  struct Work {
    int32_t slot = -1;
    bool held = false;
    int runs[3] = {};      // F, B, W
    int received[2] = {};  // activation, gradient
    int sent[2] = {};
    size_t last_item = 0;
  };

  MaybeReason Exchange(const ScheduleItem& item);
  MaybeReason CheckTransfer(const Transfer& t, bool sending) const;
  MaybeReason Send(const Transfer& t);
  MaybeReason Receive(const Transfer& t);
  MaybeReason RunPhase(const ScheduleItem& item);
  MaybeReason Take(int32_t index, int32_t slot, const std::string& what);
  void FreeIfOver(int32_t index, bool by_send);
  MaybeFault Complete() const;

  bool InRange(int32_t chunk, int32_t microbatch) const {
    return chunk >= 0 && chunk < layout_.num_chunks && microbatch >= 0 &&
           microbatch < layout_.num_microbatches;
  }
  int32_t Index(int32_t chunk, int32_t microbatch) const {
    return chunk * layout_.num_microbatches + microbatch;
  }
  // Whether a chunk has a neighbour before (activations come, gradients go) or behind.
  bool HasBefore(int32_t chunk) const { return layout_.Virtual(stage_, chunk) > 0; }
  bool HasBehind(int32_t chunk) const {
    return layout_.Virtual(stage_, chunk) < layout_.num_virtual() - 1;
  }
  Phase LastPhase() const {
    return layout_.splits_weight_grad ? Phase::kWeightGrad : Phase::kBackward;
  }
  std::string HolderText(int32_t index) const {
    return WorkText(index / layout_.num_microbatches, index % layout_.num_microbatches);
  }

  const StepSchedule& schedule_;
  const int32_t stage_;
  const ScheduleLayout& layout_;
  std::vector<Work> works_;
  std::vector<int32_t> holder_;             // index of the work, by slot; -1 is free
  std::map<int32_t, int32_t> left_behind_;  // slots freed by a send of this exchange -> chunk
};

MaybeReason StageWalk::Take(int32_t index, int32_t slot, const std::string& what) {
  Work& work = works_[index];
  if (slot < 0 || slot >= schedule_.num_slots) {
    return what + " has slot " + std::to_string(slot) + " of " +
           std::to_string(schedule_.num_slots);
  }
  if (holder_[slot] >= 0)
    return what + " takes slot " + std::to_string(slot) + " while " + HolderText(holder_[slot]) +
           " holds it";
  holder_[slot] = index;
  work.slot = slot;
  work.held = true;
  return std::nullopt;
}

void StageWalk::FreeIfOver(int32_t index, bool by_send) {
  Work& work = works_[index];
  const int32_t chunk = index / layout_.num_microbatches;
  const bool sent = !HasBefore(chunk) || work.sent[1] > 0;
  if (!work.held || !sent || work.runs[layout_.splits_weight_grad ? 2 : 1] == 0) return;
  work.held = false;
  holder_[work.slot] = -1;
  if (by_send) left_behind_[work.slot] = chunk;
}

MaybeReason StageWalk::CheckTransfer(const Transfer& t, bool sending) const {
  const std::string what = std::string(sending ? "send" : "receive") + " of the " +
                           (t.gradient ? "gradient" : "activation") + " of microbatch " +
                           std::to_string(t.microbatch);
  if (!InRange(t.chunk, t.microbatch)) {
    return what + " of chunk " + std::to_string(t.chunk) + " is beyond the last of " +
           std::to_string(layout_.num_microbatches) + " microbatches or " +
           std::to_string(layout_.num_chunks) + " chunks";
  }
  const int32_t own = layout_.Virtual(stage_, t.chunk);
  const bool to_behind = sending != t.gradient;  // the other end is the next virtual stage
  const int32_t other = to_behind ? own + 1 : own - 1;
  if (other < 0 || other >= layout_.num_virtual())
    return what + ": chunk " + std::to_string(t.chunk) + " has no such neighbour";
  const int32_t edge = to_behind ? own : own - 1;
  const int32_t peer = layout_.Home(other).stage;
  if (t.edge != edge || t.peer_stage != peer) {
    return what + " over edge " + std::to_string(t.edge) + " with stage " +
           std::to_string(t.peer_stage) + ", but that of chunk " + std::to_string(t.chunk) +
           " is edge " + std::to_string(edge) + " with stage " + std::to_string(peer);
  }
  return std::nullopt;
}

MaybeReason StageWalk::Send(const Transfer& t) {
  if (MaybeReason reason = CheckTransfer(t, true)) return reason;
  const int32_t index = Index(t.chunk, t.microbatch);
  Work& work = works_[index];
  const std::string what = std::string(t.gradient ? "the gradient" : "the activation") + " of " +
                           WorkText(t.chunk, t.microbatch);
  if (work.runs[t.gradient ? 1 : 0] == 0) return what + " is sent before it is computed";
  if (work.sent[t.gradient ? 1 : 0]++ > 0) return what + " is sent twice";
  if (!work.held || work.slot != t.slot) {
    return what + " is sent from slot " + std::to_string(t.slot) + " but " +
           (work.held ? "is in slot " + std::to_string(work.slot) : "holds none any more");
  }
  FreeIfOver(index, true);
  return std::nullopt;
}

MaybeReason StageWalk::Receive(const Transfer& t) {
  if (MaybeReason reason = CheckTransfer(t, false)) return reason;
  const int32_t index = Index(t.chunk, t.microbatch);
  Work& work = works_[index];
  const std::string what = std::string(t.gradient ? "the gradient" : "the activation") + " of " +
                           WorkText(t.chunk, t.microbatch);
  if (work.received[t.gradient ? 1 : 0]++ > 0) return what + " is received twice";
  if (!t.gradient) {
    const auto left = left_behind_.find(t.slot);
    if (left != left_behind_.end() && left->second != t.chunk) {
      return what + " is received into slot " + std::to_string(t.slot) + ", from which chunk " +
             std::to_string(left->second) + " sends in the same exchange";
    }
    return Take(index, t.slot, what);
  }
  if (!work.held || work.slot != t.slot) {
    return what + " is received into slot " + std::to_string(t.slot) + " but " +
           (work.held ? "its F is in slot " + std::to_string(work.slot) : "it holds none");
  }
  return std::nullopt;
}

MaybeReason StageWalk::Exchange(const ScheduleItem& item) {
  left_behind_.clear();
  for (const Transfer& t : item.sends) {
    if (MaybeReason reason = Send(t)) return reason;
  }
  for (const Transfer& t : item.receives) {
    if (MaybeReason reason = Receive(t)) return reason;
  }
  return std::nullopt;
}

MaybeReason StageWalk::RunPhase(const ScheduleItem& item) {
  const std::string name = ItemText(item);
  if (!InRange(item.chunk, item.microbatch))
    return name + " is beyond the last microbatch or chunk";
  if (item.phase > LastPhase()) return name + " is a phase that this order does not have";
  const int32_t index = Index(item.chunk, item.microbatch);
  Work& work = works_[index];
  const int phase = static_cast<int>(item.phase);
  if (work.runs[phase]++ > 0) return name + " runs twice";
  const bool forward = item.phase == Phase::kForward;
  if (!forward && work.runs[phase - 1] == 0) {
    return name + " runs before its " + (item.phase == Phase::kBackward ? "F" : "B");
  }
  const bool needs = forward                          ? HasBefore(item.chunk)
                     : item.phase == Phase::kBackward ? HasBehind(item.chunk)
                                                      : false;
  if (needs && work.received[forward ? 0 : 1] == 0) return name + " runs before its input arrives";
  if (forward && !needs) {
    if (MaybeReason reason = Take(index, item.slot, name)) return reason;
  }
  if (work.slot != item.slot) {
    return name + " has slot " + std::to_string(item.slot) + ", but its microbatch is in slot " +
           std::to_string(work.slot);
  }
  FreeIfOver(index, false);
  return std::nullopt;
}

// Nothing is missing. The fault stands at the last item that names the microbatch.
MaybeFault StageWalk::Complete() const {
  for (int32_t chunk = 0; chunk < layout_.num_chunks; ++chunk) {
    for (int32_t m = 0; m < layout_.num_microbatches; ++m) {
      const Work& work = works_[Index(chunk, m)];
      const auto fault = [&](const std::string& what) {
        return Fault{static_cast<size_t>(stage_), work.last_item, WorkText(chunk, m) + " " + what};
      };
      const bool split = layout_.splits_weight_grad;
      if (work.runs[0] != 1 || work.runs[1] != 1 || work.runs[2] != (split ? 1 : 0)) {
        return fault("runs F " + std::to_string(work.runs[0]) + ", B " +
                     std::to_string(work.runs[1]) +
                     (split ? " and W " + std::to_string(work.runs[2]) : "") + " times");
      }
      if (HasBehind(chunk) && work.sent[0] == 0) return fault("never sends its activation");
      if (HasBefore(chunk) && work.sent[1] == 0) return fault("never sends its gradient");
    }
  }
  return std::nullopt;
}

MaybeFault StageWalk::Run() {
  for (size_t i = 0; i < schedule_.items.size(); ++i) {
    const ScheduleItem& item = schedule_.items[i];
    const bool runs = item.kind == ItemKind::kRun;
    if (runs && item.microbatch < 0) continue;
    if (MaybeReason reason = runs ? RunPhase(item) : Exchange(item)) {
      return Fault{static_cast<size_t>(stage_), i, *reason};
    }
    if (runs) works_[Index(item.chunk, item.microbatch)].last_item = i;
  }
  return Complete();
}

MaybeFault CheckSlots(const std::vector<StepSchedule>& schedules, int32_t slot_limit) {
  for (size_t s = 0; s < schedules.size(); ++s) {
    if (slot_limit == 0 || schedules[s].num_slots <= slot_limit) continue;
    size_t item = 0;  // the first that uses a slot beyond
    const auto& items = schedules[s].items;
    for (size_t i = items.size(); i-- > 0;) {
      if (items[i].kind == ItemKind::kRun && items[i].slot >= slot_limit) item = i;
    }
    return Fault{s, item,
                 "needs " + std::to_string(schedules[s].num_slots) +
                     " slots but memory has room for " + std::to_string(slot_limit)};
  }
  return std::nullopt;
}

MaybeFault CheckRendezvous(const std::vector<StepSchedule>& schedules, const Timeline& timeline) {
  if (timeline.complete) return std::nullopt;
  std::string reason = "the schedule deadlocks; stages stand at:";
  MaybeFault fault;
  for (size_t s = 0; s < schedules.size(); ++s) {
    const std::vector<ItemTimes>& times = timeline.items[s];
    size_t at = 0;
    while (at < times.size() && times[at].end >= 0) ++at;
    reason += "\n  stage " + std::to_string(s) + ": ";
    if (at == times.size()) {
      reason += "done";
      continue;
    }
    reason += "item " + std::to_string(at) + " " + ItemText(schedules[s].items[at]);
    if (!fault.has_value()) fault = Fault{s, at, ""};
  }
  fault->reason = reason;
  return fault;
}

// Messages of one stage to another: received in the order they are sent.
MaybeFault CheckCrossing(const std::vector<StepSchedule>& schedules) {
  using Message = std::tuple<bool, int32_t, int32_t>;  // gradient, edge, microbatch
  std::map<std::pair<int32_t, int32_t>, std::vector<Message>> sent;
  std::map<std::pair<int32_t, int32_t>, size_t> num_received;
  for (size_t s = 0; s < schedules.size(); ++s) {
    for (const ScheduleItem& item : schedules[s].items) {
      for (const Transfer& t : item.sends)
        sent[{s, t.peer_stage}].push_back({t.gradient, t.edge, t.microbatch});
    }
  }
  for (size_t s = 0; s < schedules.size(); ++s) {
    for (size_t i = 0; i < schedules[s].items.size(); ++i) {
      for (const Transfer& t : schedules[s].items[i].receives) {
        const std::pair<int32_t, int32_t> link = {t.peer_stage, static_cast<int32_t>(s)};
        const size_t at = num_received[link]++;
        const std::vector<Message>& messages = sent[link];
        if (at < messages.size() && messages[at] == Message{t.gradient, t.edge, t.microbatch})
          continue;
        return Fault{s, i,
                     "messages cross: number " + std::to_string(at) + " from stage " +
                         std::to_string(t.peer_stage) + " is received as microbatch " +
                         std::to_string(t.microbatch) + " of edge " + std::to_string(t.edge) +
                         ", but sent as another"};
      }
    }
  }
  return std::nullopt;
}

MaybeFault FindFault(const std::vector<StepSchedule>& schedules, const ScheduleLayout& layout,
                     const Timeline& timeline, int32_t slot_limit) {
  for (size_t s = 0; s < schedules.size(); ++s) {
    if (MaybeFault fault = StageWalk(schedules[s], static_cast<int32_t>(s), layout).Run())
      return fault;
  }
  if (MaybeFault fault = CheckSlots(schedules, slot_limit)) return fault;
  if (MaybeFault fault = CheckRendezvous(schedules, timeline)) return fault;
  return CheckCrossing(schedules);
}

}  // namespace

Status ValidateSchedules(const std::vector<StepSchedule>& schedules, const ScheduleLayout& layout,
                         int32_t slot_limit) {
  if (static_cast<int32_t>(schedules.size()) != layout.num_stages) {
    return Internal(std::to_string(schedules.size()) + " schedules for " +
                    std::to_string(layout.num_stages) + " stages");
  }
  const Timeline timeline = SimulateSchedules(schedules, EqualCosts(layout.splits_weight_grad));
  const MaybeFault fault = FindFault(schedules, layout, timeline, slot_limit);
  if (!fault.has_value()) return absl::OkStatus();
  const GridOptions options = {.mark_stage = static_cast<int32_t>(fault->stage),
                               .mark_item = static_cast<int32_t>(fault->item)};
  return Internal("schedule of stage " + std::to_string(fault->stage) + ", item " +
                  std::to_string(fault->item) + " (" +
                  ItemText(schedules[fault->stage].items[fault->item]) + "): " + fault->reason +
                  "\n" + ScheduleGrid(schedules, timeline, options));
}

}  // namespace trireme
