// Runs one rank's program: allocates its arena, turns every phase into ready-made calls once, and
// then walks the step schedule. It decides nothing: which memory, which order and which collectives
// are all in the program.
#ifndef TRIREME_WORKER_EXECUTOR_EXECUTOR_H_
#define TRIREME_WORKER_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/plan/rank_program.h"
#include "worker/comm/communicator.h"
#include "worker/executor/calls.h"
#include "worker/executor/comm_thread.h"
#include "worker/executor/device.h"
#include "worker/executor/trace.h"

namespace trireme {

// Fills the inputs of a microbatch: `inputs` has one host buffer for each of StageProgram::inputs,
// of this rank's local (padded) elements.
using MicrobatchSource =
    std::function<Status(int64_t step, int64_t microbatch, const std::vector<void*>& inputs)>;

struct StepResult {
  double loss = 0;       // mean over the weight of the step, losses of routers included
  double grad_norm = 0;  // before clipping
  double learning_rate = 0;
  double tokens = 0;     // sum of the loss weights
  bool applied = false;  // false: a non-finite gradient, nothing was changed
  int64_t applied_steps = 0;
  // Sums of all ranks for every router of the model, as ScalarPlacement lays them out; empty for
  // dense models.
  std::vector<double> router_stats;
};

class Executor {
 public:
  // `communicator` may be null when nothing is said to other ranks. All arguments must outlive the
  // executor; `program` has been validated (common/plan/validate.h). Errors: kResourceExhausted
  // when the arena does not fit, kInvalidArgument when the program needs an op or learning-rate
  // table that is not there.
  static StatusOr<std::unique_ptr<Executor>> Create(const RankProgram& program, int64_t rank,
                                                    Communicator* communicator, Device& device);

  // Makes the initial weights. States, gradients and counters are zero from the start.
  Status Init();

  // One whole step of the schedule. Errors say where: "step 12, F of microbatch 3, block.F #17
  // all_gather: ...".
  StatusOr<StepResult> RunStep(int64_t step, const MicrobatchSource& source);

  // Writes down every call from now on; null: no longer. Borrowed.
  void SetTrace(TraceRecorder* trace) { trace_ = trace; }

  // All calls of one phase, for programs that are not scheduled (generate).
  Status RunPhase(Phase phase, int slot);

  // The arena from the host's side, for checkpoints, inputs and tests.
  void Read(const Place& place, int slot, void* host_to, int64_t bytes) const;
  void Write(const Place& place, int slot, const void* host_from, int64_t bytes);
  // Steps whose update was applied: the second counter of a checkpoint.
  int64_t AppliedStep() const;
  void SetAppliedStep(int64_t applied_step);

  int64_t arena_bytes() const { return program_.program.ArenaBytes(); }
  int64_t rank() const { return rank_; }
  const RankProgram& program() const { return program_; }

 private:
  struct PhaseCalls {
    std::vector<std::vector<std::vector<Call>>> by_chunk_and_slot;  // one for phases of the step
  };

  Executor(const RankProgram& program, int64_t rank, Communicator* communicator, Device& device)
      : program_(program), rank_(rank), communicator_(communicator), device_(device) {}

  Status Build();
  Status BuildPhases();
  void StartStep(int64_t step);
  StepResult FinishStep() const;
  Status RunItem(int64_t step, int32_t item, const MicrobatchSource& source);
  Status FillInputs(int64_t step, const ScheduleItem& item, const MicrobatchSource& source);
  Status RunCalls(const std::vector<Call>& calls, int64_t step, int32_t item);
  Status RunTimed(const Call& call);
  Status RunCollective(const Call& call);
  // Waits until nothing runs beside this thread; returns what went wrong there.
  Status Drain();
  void SetProgress(int64_t step, int32_t item, int32_t instruction);
  const std::vector<Call>& CallsOf(Phase phase, int chunk, int slot) const;

  const RankProgram& program_;
  const int64_t rank_;
  Communicator* const communicator_;
  Device& device_;
  char* arena_ = nullptr;
  bool has_scalars_ = false;                // programs that do not train have none
  std::vector<PhaseCalls> phases_;          // index = Phase
  std::vector<ExchangeCall> exchanges_;     // index = schedule item
  std::vector<std::vector<char>> staging_;  // host copies of the inputs
  std::vector<void*> staging_pointers_;
  TraceRecorder* trace_ = nullptr;
  std::unique_ptr<CommThread> comm_thread_;  // only where the program has async collectives
};

}  // namespace trireme

#endif  // TRIREME_WORKER_EXECUTOR_EXECUTOR_H_
