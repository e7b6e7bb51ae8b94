// The part of a rank process between "connected" and "done": weights, steps, metrics, checkpoints,
// and stopping together.
#ifndef TRIREME_WORKER_RANK_TRAINER_H_
#define TRIREME_WORKER_RANK_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/plan/rank_program.h"
#include "worker/comm/communicator.h"
#include "worker/data/batch_loader.h"
#include "worker/executor/executor.h"

namespace trireme {

struct TrainerOptions {
  std::string job;
  int64_t attempt = 0;
  int64_t rank = 0;
  int num_threads = 1;
  DataConfig data;
  std::string checkpoint_path;   // "" = none are written
  int64_t checkpoint_every = 0;  // steps; 0 = only after the last
  std::string checkpoint_load;   // folder to start from; "" = initial weights
  std::string trace_path;        // folder of "rank-00000.trace.json"; "" = none
  int64_t trace_first_step = 0;
  int64_t trace_steps = 0;
};

struct StepReport {
  int64_t step = 0;  // steps done
  StepResult result;
  double duration_s = 0;
  CommBytes bytes;  // sent by this rank in the step
};

// What the trainer tells while it runs; any may fail, which ends the training.
struct TrainerEvents {
  std::function<Status(int64_t first_step, int64_t arena_bytes, int64_t parameter_bytes)> ready;
  std::function<Status(const StepReport&)> step;  // only from the reporting rank
  std::function<Status(int64_t step, const std::string& folder, int64_t bytes)> checkpoint;
  std::function<bool()> stop_requested;
};

// Trains until the run's last step or until any rank was asked to stop; all ranks stop after the
// same step. Returns the steps done. `communicator` may be null for one rank. Errors: those of
// executor, loader and checkpoints.
StatusOr<int64_t> Train(const TrainerOptions& options, const RankProgram& program,
                        Communicator* communicator, const TrainerEvents& events);

// The rank whose metrics count: last stage, every other coordinate 0.
int64_t ReportingRank(const RankProgram& program);

}  // namespace trireme

#endif  // TRIREME_WORKER_RANK_TRAINER_H_
