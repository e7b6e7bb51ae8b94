// All that a rank of one stage needs to run its part of a job.
#ifndef TRIREME_COMMON_PLAN_RANK_PROGRAM_H_
#define TRIREME_COMMON_PLAN_RANK_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "common/plan/plan.h"

namespace trireme {

struct RankProgram {
  uint64_t op_table_hash = 0;  // OpTableHash() of the compiler
  Mesh mesh;
  StageProgram program;
  StepSchedule schedule;
  TrainingRun run;
  std::vector<int> data_axes;  // mesh axes that `batch` maps to, major to minor
  int stage_axis = -1;         // -1 = no pipeline

  int64_t num_stages() const { return stage_axis < 0 ? 1 : mesh.axis(stage_axis).size; }
};

}  // namespace trireme

#endif  // TRIREME_COMMON_PLAN_RANK_PROGRAM_H_
