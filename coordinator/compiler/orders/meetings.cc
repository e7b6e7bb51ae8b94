// At every tick gradients leave that can, then stages start what they can: a stage goes on after a
// backward when its gradient has left, and starts a forward when there is a moment at which its
// input can have been sent.
#include "coordinator/compiler/orders/meetings.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace trireme {
namespace {

class Clock {
 public:
  Clock(const std::vector<std::vector<Action>>& actions, const ScheduleLayout& layout)
      : actions_(actions),
        layout_(layout),
        starts_(actions.size()),
        ends_(actions.size()),
        waiting_gradient_(actions.size(), false),
        forward_at_(size_t{1} * layout.num_virtual() * layout.num_microbatches, -1),
        gradient_left_(forward_at_.size(), false) {}

  StatusOr<std::vector<Meeting>> Run();

 private:
  struct Gaps {
    int32_t from = 0;
    int32_t to = 0;
    int64_t time = 0;
  };

  bool Done(size_t stage) const { return starts_[stage].size() == actions_[stage].size(); }
  bool Busy(size_t stage) const { return !ends_[stage].empty() && ends_[stage].back() > now_; }
  int64_t Cost(Phase phase) const {
    return phase == Phase::kBackward && !layout_.splits_weight_grad ? 2 : 1;
  }
  size_t At(int32_t virtual_stage, int32_t microbatch) const {
    return size_t{1} * virtual_stage * layout_.num_microbatches + microbatch;
  }
  // Bounds of a gap, as far as time has come; the gap is open where a stage has yet to start.
  int64_t GapBegin(int32_t stage, int32_t gap) const {
    return gap == 0 ? 0 : ends_[stage][gap - 1];
  }
  int64_t GapEnd(int32_t stage, int32_t gap) const {
    return gap < static_cast<int32_t>(starts_[stage].size()) ? starts_[stage][gap] : now_;
  }
  void SendGradient(int32_t stage);
  bool TryStart(int32_t stage);
  bool ReceiveActivation(int32_t stage, const Action& action, int32_t source);
  std::optional<Gaps> LastMoment(int32_t from, int32_t after, int32_t to) const;
  Status Stuck() const;

  const std::vector<std::vector<Action>>& actions_;
  const ScheduleLayout& layout_;
  int64_t now_ = 0;
  std::vector<std::vector<int64_t>> starts_, ends_;  // of the actions begun, by stage
  std::vector<bool> waiting_gradient_;  // by stage: its last B's gradient has yet to leave
  std::vector<int32_t> forward_at_;     // index of F among its stage's actions, -1 before
  std::vector<bool> gradient_left_;     // of B of a virtual stage and microbatch
  std::vector<Meeting> meetings_;
};

// A gradient leaves at the first moment when its receiver is between two actions.
void Clock::SendGradient(int32_t stage) {
  if (!waiting_gradient_[stage] || Busy(stage)) return;
  const auto gap = static_cast<int32_t>(starts_[stage].size());
  const Action& made = actions_[stage][gap - 1];
  const int32_t source = layout_.Virtual(stage, made.chunk);
  const StageChunk to = layout_.Home(source - 1);
  if (Busy(to.stage)) return;
  waiting_gradient_[stage] = false;
  gradient_left_[At(source, made.microbatch)] = true;
  meetings_.push_back({now_,
                       true,
                       source - 1,
                       made.microbatch,
                       {stage, made.chunk},
                       to,
                       gap,
                       static_cast<int32_t>(starts_[to.stage].size())});
}

// The last moment up to now at which both are in a gap.
std::optional<Clock::Gaps> Clock::LastMoment(int32_t from, int32_t after, int32_t to) const {
  auto a = static_cast<int32_t>(starts_[from].size());
  auto b = static_cast<int32_t>(starts_[to].size());
  while (a > after && b >= 0) {
    const int64_t end = std::min(GapEnd(from, a), GapEnd(to, b));
    if (std::max(GapBegin(from, a), GapBegin(to, b)) <= end) return Gaps{a, b, end};
    (GapBegin(from, a) > GapBegin(to, b) ? a : b) -= 1;
  }
  return std::nullopt;
}

// Takes the activation that a forward needs at the last moment; false if there was none.
bool Clock::ReceiveActivation(int32_t stage, const Action& action, int32_t source) {
  const StageChunk from = layout_.Home(source);
  const int32_t made = forward_at_[At(source, action.microbatch)];
  if (made < 0 || ends_[from.stage][made] > now_) return false;
  const std::optional<Gaps> gaps = LastMoment(from.stage, made, stage);
  if (!gaps.has_value()) return false;
  meetings_.push_back({gaps->time,
                       false,
                       source,
                       action.microbatch,
                       from,
                       {stage, action.chunk},
                       gaps->from,
                       gaps->to});
  return true;
}

bool Clock::TryStart(int32_t stage) {
  if (Done(stage) || Busy(stage) || waiting_gradient_[stage]) return false;
  const size_t index = starts_[stage].size();
  const Action& action = actions_[stage][index];
  const int32_t virtual_stage = layout_.Virtual(stage, action.chunk);
  if (action.phase == Phase::kForward) {
    if (virtual_stage > 0 && !ReceiveActivation(stage, action, virtual_stage - 1)) return false;
    forward_at_[At(virtual_stage, action.microbatch)] = static_cast<int32_t>(index);
  } else if (action.phase == Phase::kBackward) {
    const bool last = virtual_stage == layout_.num_virtual() - 1;
    if (!last && !gradient_left_[At(virtual_stage + 1, action.microbatch)]) return false;
    waiting_gradient_[stage] = virtual_stage > 0;
  }
  starts_[stage].push_back(now_);
  ends_[stage].push_back(now_ + Cost(action.phase));
  return true;
}

Status Clock::Stuck() const {
  std::string text = "the actions of the stages wait for each other:";
  for (size_t s = 0; s < actions_.size(); ++s) {
    text += "\n  stage " + std::to_string(s) + ": ";
    if (Done(s)) {
      text += "done";
      continue;
    }
    const Action& action = actions_[s][starts_[s].size()];
    text += "action " + std::to_string(starts_[s].size()) + " is " +
            std::string(Name(action.phase)) + std::to_string(action.microbatch) + " of chunk " +
            std::to_string(action.chunk);
  }
  return Internal(text);
}

StatusOr<std::vector<Meeting>> Clock::Run() {
  const auto num_stages = static_cast<int32_t>(actions_.size());
  for (bool done = false; !done; ++now_) {
    bool moving = false;
    done = true;
    for (int32_t s = 0; s < num_stages; ++s) SendGradient(s);
    for (int32_t s = 0; s < num_stages; ++s) {
      moving = TryStart(s) || Busy(s) || moving;
      done = done && Done(s);
    }
    if (!moving && !done) return Stuck();
  }
  std::sort(meetings_.begin(), meetings_.end(), [](const Meeting& a, const Meeting& b) {
    return std::make_tuple(a.time, !a.gradient, a.edge, a.microbatch) <
           std::make_tuple(b.time, !b.gradient, b.edge, b.microbatch);
  });
  return std::move(meetings_);
}

}  // namespace

StatusOr<std::vector<Meeting>> FindMeetings(const std::vector<std::vector<Action>>& actions,
                                            const ScheduleLayout& layout) {
  return Clock(actions, layout).Run();
}

}  // namespace trireme
