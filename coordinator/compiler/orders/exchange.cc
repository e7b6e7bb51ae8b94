// Walks each stage's actions and meetings in order, handing out slots.
#include "coordinator/compiler/orders/exchange.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/check.h"
#include "coordinator/compiler/orders/meetings.h"

namespace trireme {
namespace {

using Work = std::pair<int32_t, int32_t>;  // (chunk, microbatch)

// Builds the schedule of one stage.
class StageBuilder {
 public:
  StageBuilder(int32_t stage, const ScheduleLayout& layout) : layout_(layout) {
    schedule_.stage = stage;
    RunStepPhase(Phase::kGather);
  }

  void Exchange(const Meeting& meeting);
  // Ends the exchange that is being built.
  void Close();
  void Run(const Action& action);
  StepSchedule Finish() {
    RunStepPhase(Phase::kUpdate1);
    RunStepPhase(Phase::kUpdate2);
    schedule_.num_slots = std::max<int32_t>(1, static_cast<int32_t>(free_.size()));
    return std::move(schedule_);
  }

 private:
  struct Live {
    int32_t slot = 0;
    bool computed = false;       // the last action that reads the slot has run
    bool gradient_left = false;  // or there is none to send
  };

  void RunStepPhase(Phase phase) {
    schedule_.items.push_back({.kind = ItemKind::kRun, .phase = phase});
  }
  Live& Acquire(const Work& work);
  Live& Held(const Work& work) {
    const auto found = live_.find(work);
    CHECK(found != live_.end()) << "stage " << schedule_.stage << ": chunk " << work.first
                                << " microbatch " << work.second << " holds no slot";
    return found->second;
  }
  void FreeIfOver(const Work& work);

  const ScheduleLayout& layout_;
  StepSchedule schedule_;
  std::map<Work, Live> live_;
  std::vector<bool> free_;              // by slot
  ScheduleItem exchange_;               // being built
  std::map<int32_t, int32_t> leaving_;  // slots that exchange_ frees, with their chunk
};

// A slot that the exchange being built frees still holds what is being sent. The same chunk
// receives beside it; another chunk, laid out otherwise, has to wait for the next exchange.
StageBuilder::Live& StageBuilder::Acquire(const Work& work) {
  const auto found = live_.find(work);
  if (found != live_.end()) return found->second;
  int32_t late = -1;
  int32_t slot = 0;
  const auto num_slots = static_cast<int32_t>(free_.size());
  for (; slot < num_slots; ++slot) {
    if (!free_[slot]) continue;
    const auto leaving = leaving_.find(slot);
    if (leaving == leaving_.end() || leaving->second == work.first) break;
    if (late < 0) late = slot;
  }
  if (slot == num_slots && late >= 0) {
    Close();
    slot = late;
  }
  if (slot == num_slots) free_.push_back(true);
  free_[slot] = false;
  const bool sends_gradient = layout_.Virtual(schedule_.stage, work.first) > 0;
  return live_[work] = {slot, false, !sends_gradient};
}

void StageBuilder::FreeIfOver(const Work& work) {
  const Live& live = Held(work);
  if (!live.computed || !live.gradient_left) return;
  free_[live.slot] = true;
  live_.erase(work);
}

void StageBuilder::Exchange(const Meeting& meeting) {
  const auto transfer = [&](const StageChunk& own, const StageChunk& other, int32_t slot) {
    return Transfer{other.stage, meeting.gradient, meeting.microbatch,
                    slot,        own.chunk,        meeting.edge};
  };
  const bool sends = meeting.from.stage == schedule_.stage;
  const bool receives = meeting.to.stage == schedule_.stage;
  // The slot first: taking one may end the exchange.
  const int32_t into = receives ? Acquire({meeting.to.chunk, meeting.microbatch}).slot : -1;
  if (sends) {
    const Work work = {meeting.from.chunk, meeting.microbatch};
    Live& live = Held(work);
    const int32_t slot = live.slot;
    exchange_.sends.push_back(transfer(meeting.from, meeting.to, slot));
    if (meeting.gradient) {
      live.gradient_left = true;
      if (live.computed) leaving_[slot] = meeting.from.chunk;
      FreeIfOver(work);
    }
  }
  if (receives) exchange_.receives.push_back(transfer(meeting.to, meeting.from, into));
}

void StageBuilder::Close() {
  leaving_.clear();
  if (exchange_.sends.empty() && exchange_.receives.empty()) return;
  exchange_.kind = ItemKind::kExchange;
  schedule_.items.push_back(std::exchange(exchange_, {}));
}

void StageBuilder::Run(const Action& action) {
  const Work work = {action.chunk, action.microbatch};
  Live& live = action.phase == Phase::kForward ? Acquire(work) : Held(work);
  schedule_.items.push_back({.kind = ItemKind::kRun,
                             .phase = action.phase,
                             .microbatch = action.microbatch,
                             .slot = live.slot,
                             .chunk = action.chunk});
  const Phase last = layout_.splits_weight_grad ? Phase::kWeightGrad : Phase::kBackward;
  if (action.phase != last) return;
  live.computed = true;
  FreeIfOver(work);
}

}  // namespace

StatusOr<std::vector<StepSchedule>> AddExchanges(const std::vector<std::vector<Action>>& actions,
                                                 const ScheduleLayout& layout) {
  CHECK_EQ(static_cast<int32_t>(actions.size()), layout.num_stages);
  for (const std::vector<Action>& of_stage : actions) {
    for (const Action& a : of_stage) {
      CHECK(a.chunk >= 0 && a.chunk < layout.num_chunks && a.microbatch >= 0 &&
            a.microbatch < layout.num_microbatches)
          << "microbatch " << a.microbatch << " of chunk " << a.chunk;
    }
  }
  ASSIGN_OR_RETURN(const std::vector<Meeting> meetings, FindMeetings(actions, layout));
  std::vector<std::vector<std::vector<const Meeting*>>> gaps;  // [stage][gap]
  for (const std::vector<Action>& of_stage : actions) gaps.emplace_back(of_stage.size() + 1);
  for (const Meeting& meeting : meetings) {
    gaps[meeting.from.stage][meeting.from_gap].push_back(&meeting);
    if (meeting.to.stage != meeting.from.stage)
      gaps[meeting.to.stage][meeting.to_gap].push_back(&meeting);
  }
  std::vector<StepSchedule> schedules;
  for (size_t s = 0; s < actions.size(); ++s) {
    StageBuilder builder(static_cast<int32_t>(s), layout);
    for (size_t gap = 0; gap <= actions[s].size(); ++gap) {
      for (const Meeting* meeting : gaps[s][gap]) builder.Exchange(*meeting);
      builder.Close();
      if (gap < actions[s].size()) builder.Run(actions[s][gap]);
    }
    schedules.push_back(builder.Finish());
  }
  return schedules;
}

}  // namespace trireme
