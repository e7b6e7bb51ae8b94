// The learning rate of every step, made once and pushed with the plan. Semantics of
// OptimizerConfig.lr_scheduler in marin-community/marin lib/levanter (cycles, warmup, stable part,
// decay), computed in double.
#ifndef TRIREME_COMMON_CONFIG_LR_SCHEDULE_H_
#define TRIREME_COMMON_CONFIG_LR_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/config/job_spec.h"

namespace trireme {

class LearningRateSchedule {
 public:
  // Errors: kInvalidArgument when total_steps < 1, the type is not known, there are more cycles
  // than steps, or warmup and decay do not fit in a cycle.
  static StatusOr<LearningRateSchedule> Create(const OptimizerSpec& optimizer,
                                               const ScheduleSpec& schedule, int64_t total_steps);

  // The learning rate of `step` (0 is the first); from total_steps on, the last cycle's end.
  double At(int64_t step) const;

 private:
  // Steps [start, start + length): from `from` up to the peak, then stable, then down.
  struct Cycle {
    int64_t start = 0;
    int64_t length = 0;
    int64_t warmup = 0;
    int64_t decay = 0;
    double from = 0;
  };

  // Value t steps into a decay of `cycle`, 0 <= t <= cycle.decay.
  double Decayed(const Cycle& cycle, int64_t t) const;

  std::string type_;
  double peak_ = 0;
  double min_ratio_ = 0;
  std::vector<Cycle> cycles_;
};

// One value a step, total_steps of them.
StatusOr<std::vector<float>> LearningRateTable(const OptimizerSpec& optimizer,
                                               const ScheduleSpec& schedule, int64_t total_steps);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_LR_SCHEDULE_H_
