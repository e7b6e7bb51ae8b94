// Cycle i of n ends at floor(total / n * (i + 1)); inside it: warmup, stable, decay.
#include "common/config/lr_schedule.h"

#include <algorithm>
#include <cmath>

namespace trireme {
namespace {

// Timescale of inv_sqrt; fixed in the source.
constexpr double kInvSqrtSteps = 1e4;

// Steps that `count` means in a cycle of `length` steps. The small number keeps 0.29 * 100 from
// being 28.
int64_t StepsOf(const StepCount& count, int64_t length) {
  if (!count.is_fraction) return static_cast<int64_t>(count.value);
  return static_cast<int64_t>(std::floor(count.value * static_cast<double>(length) + 1e-9));
}

bool IsKnown(const std::string& type) {
  for (const char* known : {"constant", "cosine", "linear", "inv_sqrt", "inv"}) {
    if (type == known) return true;
  }
  return false;
}

}  // namespace

StatusOr<LearningRateSchedule> LearningRateSchedule::Create(const OptimizerSpec& optimizer,
                                                            const ScheduleSpec& schedule,
                                                            int64_t total_steps) {
  if (!IsKnown(schedule.type)) {
    return InvalidArgument("schedule.type " + schedule.type +
                           " is not known; try constant, cosine, linear, inv_sqrt or inv");
  }
  if (total_steps < 1 || schedule.cycles < 1 || schedule.cycles > total_steps) {
    return InvalidArgument("schedule.cycles " + std::to_string(schedule.cycles) + " in " +
                           std::to_string(total_steps) +
                           " steps; at least one step a cycle is needed");
  }
  LearningRateSchedule result;
  result.type_ = schedule.type;
  result.peak_ = optimizer.learning_rate;
  result.min_ratio_ = schedule.min_ratio;
  int64_t start = 0;
  double from = 0;
  for (int64_t i = 0; i < schedule.cycles; ++i) {
    const auto end =
        static_cast<int64_t>(static_cast<__int128>(total_steps) * (i + 1) / schedule.cycles);
    Cycle cycle{start, end - start, 0, 0, from};
    cycle.warmup = StepsOf(i == 0 ? schedule.warmup : schedule.rewarmup, cycle.length);
    const bool rest = schedule.decay.value < 0;
    cycle.decay = rest ? std::max<int64_t>(0, cycle.length - cycle.warmup)
                       : StepsOf(schedule.decay, cycle.length);
    if (cycle.warmup + cycle.decay > cycle.length) {
      return InvalidArgument(
          std::string(i == 0 ? "schedule.warmup " : "schedule.rewarmup ") +
          std::to_string(cycle.warmup) + " steps" +
          (rest ? "" : " and schedule.decay " + std::to_string(cycle.decay) + " steps") +
          " do not fit in the " + std::to_string(cycle.length) + " steps of cycle " +
          std::to_string(i) + "; shorten them, write a share such as 10%, or train longer");
    }
    from = result.Decayed(cycle, cycle.decay);
    result.cycles_.push_back(cycle);
    start = end;
  }
  return result;
}

double LearningRateSchedule::Decayed(const Cycle& cycle, int64_t t) const {
  const double floor = min_ratio_ * peak_;
  const double steps = static_cast<double>(std::max<int64_t>(1, cycle.decay));
  const double share = static_cast<double>(t) / steps;
  if (type_ == "constant") return peak_;
  if (type_ == "cosine") {
    return peak_ * ((1 - min_ratio_) * 0.5 * (1 + std::cos(M_PI * share)) + min_ratio_);
  }
  if (type_ == "linear") return peak_ + (floor - peak_) * share;
  if (type_ == "inv_sqrt") {
    const double count = static_cast<double>(std::max<int64_t>(1, t + cycle.warmup));
    return std::max(peak_ * std::min(1.0, 1 / std::sqrt(count / kInvSqrtSteps)), floor);
  }
  // inv; with min_ratio 0 its slope is infinite, so only the floor is left.
  if (min_ratio_ <= 0) return floor;
  const double count = static_cast<double>(std::max<int64_t>(1, t));
  return std::max(peak_ / ((1 / min_ratio_ - 1) * count / steps + 1), floor);
}

double LearningRateSchedule::At(int64_t step) const {
  const auto after = std::upper_bound(cycles_.begin(), cycles_.end(), step,
                                      [](int64_t s, const Cycle& c) { return s < c.start; });
  const Cycle& cycle = after == cycles_.begin() ? *after : *std::prev(after);
  const int64_t t = std::clamp<int64_t>(step - cycle.start, 0, cycle.length);
  if (t < cycle.warmup) {
    const double share = static_cast<double>(t) / static_cast<double>(cycle.warmup);
    return cycle.from + (peak_ - cycle.from) * share;
  }
  const int64_t decay_start = cycle.length - cycle.decay;
  // At the start of its decay inv is already below the peak, as in the source.
  if (t < decay_start || cycle.decay == 0) return peak_;
  return Decayed(cycle, t - decay_start);
}

StatusOr<std::vector<float>> LearningRateTable(const OptimizerSpec& optimizer,
                                               const ScheduleSpec& schedule, int64_t total_steps) {
  constexpr int64_t kMaxSteps = int64_t{1} << 28;
  if (total_steps > kMaxSteps) {
    return ResourceExhausted("a learning-rate table of " + std::to_string(total_steps) +
                             " steps; at most " + std::to_string(kMaxSteps) +
                             " fit, make train.steps smaller");
  }
  ASSIGN_OR_RETURN(const LearningRateSchedule rates,
                   LearningRateSchedule::Create(optimizer, schedule, total_steps));
  std::vector<float> table(total_steps);
  for (int64_t step = 0; step < total_steps; ++step) {
    table[step] = static_cast<float>(rates.At(step));
  }
  return table;
}

}  // namespace trireme
