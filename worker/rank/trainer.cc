// Ranks free-run: the only thing they agree on beside the program's own collectives is whether to
// stop, one integer a step.
#include "worker/rank/trainer.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "common/base/math.h"
#include "common/formats/checkpoint_manifest.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/executor/device.h"

namespace trireme {
namespace {

constexpr int32_t kWorldGroupId = -2;  // no group of a program has it

class Trainer {
 public:
  Trainer(const TrainerOptions& options, const RankProgram& program, Communicator* communicator,
          const TrainerEvents& events)
      : options_(options),
        program_(program),
        communicator_(communicator),
        events_(events),
        trace_(options.rank) {
    world_.id = kWorldGroupId;
    world_.ranks.resize(program.mesh.num_ranks());
    std::iota(world_.ranks.begin(), world_.ranks.end(), 0);
  }

  StatusOr<int64_t> Run() {
    RETURN_IF_ERROR(Prepare());
    const int64_t last = program_.run.steps;
    if (steps_done_ >= last && LoadedFromElsewhere()) RETURN_IF_ERROR(Save());
    while (steps_done_ < last) {
      RETURN_IF_ERROR(RunOneStep());
      const bool due =
          options_.checkpoint_every > 0 && steps_done_ % options_.checkpoint_every == 0;
      if (due || steps_done_ == last) RETURN_IF_ERROR(Save());
      ASSIGN_OR_RETURN(const bool stop, AgreeToStop());
      if (stop) break;
    }
    return steps_done_;
  }

 private:
  Status Prepare() {
    device_ = MakeCpuDevice(options_.num_threads);
    ASSIGN_OR_RETURN(executor_, Executor::Create(program_, options_.rank, communicator_, *device_));
    ASSIGN_OR_RETURN(BatchLoader loader,
                     BatchLoader::Create(options_.data, program_, options_.rank));
    loader_.emplace(std::move(loader));
    if (options_.checkpoint_load.empty()) {
      RETURN_IF_ERROR(executor_->Init());
    } else {
      ASSIGN_OR_RETURN(const LoadedCheckpoint loaded,
                       LoadCheckpoint(options_.checkpoint_load, *executor_));
      steps_done_ = loaded.step;
      tokens_seen_ = static_cast<double>(loaded.tokens_seen);
    }
    return events_.ready(steps_done_, executor_->arena_bytes(),
                         program_.program.PoolBytes(Pool::kParam));
  }

  Status RunOneStep() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    const MicrobatchSource source = [this](int64_t step, int64_t microbatch,
                                           const std::vector<void*>& inputs) {
      return loader_->Fill(step, microbatch, inputs);
    };
    const bool traced = InTrace(steps_done_);
    executor_->SetTrace(traced ? &trace_ : nullptr);
    const CommBytes before = BytesSent();
    const StatusOr<StepResult> ran = executor_->RunStep(steps_done_, source);
    if (!ran.ok()) {
      if (traced) (void)WriteTrace();  // what went wrong first is what is told
      return ran.status();
    }
    const StepResult& result = *ran;
    ++steps_done_;
    const CommBytes after = BytesSent();
    tokens_seen_ += result.tokens;
    const std::chrono::duration<double> duration = Clock::now() - start;
    // After every step of it, so that a job that ends in the middle leaves what there is.
    if (traced) RETURN_IF_ERROR(WriteTrace());
    if (options_.rank != ReportingRank(program_)) return absl::OkStatus();
    return events_.step(
        {steps_done_, result, duration.count(), {after.ici - before.ici, after.dcn - before.dcn}});
  }

  CommBytes BytesSent() const {
    return communicator_ != nullptr ? communicator_->bytes_sent() : CommBytes();
  }

  bool InTrace(int64_t step) const {
    const int64_t first = options_.trace_first_step;
    return !options_.trace_path.empty() && step >= first && step < program_.run.steps &&
           step < first + options_.trace_steps;
  }

  Status WriteTrace() const {
    std::error_code ignored;  // told when the file cannot be written
    std::filesystem::create_directories(options_.trace_path, ignored);
    char name[40];
    snprintf(name, sizeof(name), "/rank-%05lld.trace.json", static_cast<long long>(options_.rank));
    return trace_.Write(options_.trace_path + name);
  }

  Status Save() {
    if (options_.checkpoint_path.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const SavedCheckpoint saved,
                     SaveCheckpoint(*executor_, {.path = options_.checkpoint_path,
                                                 .job = options_.job,
                                                 .attempt = options_.attempt,
                                                 .step = steps_done_,
                                                 .tokens_seen = std::llround(tokens_seen_)}));
    return events_.checkpoint(steps_done_, saved.folder, saved.bytes);
  }

  // A finished checkpoint of another folder is written again as this job's own: so checkpoints are
  // moved, and one can compare what two meshes hold.
  bool LoadedFromElsewhere() const {
    return !options_.checkpoint_load.empty() &&
           options_.checkpoint_load !=
               options_.checkpoint_path + "/" + CheckpointFolderName(steps_done_);
  }

  // True on all ranks or on none.
  StatusOr<bool> AgreeToStop() {
    int32_t stop = events_.stop_requested() ? 1 : 0;
    if (world_.ranks.size() > 1) {
      RETURN_IF_ERROR(
          Annotate(communicator_->AllReduce(world_, DType::kInt32, ReduceKind::kMax, {&stop, 1}),
                   "agreeing to go on after step " + std::to_string(steps_done_)));
    }
    return stop != 0;
  }

  const TrainerOptions& options_;
  const RankProgram& program_;
  Communicator* const communicator_;
  const TrainerEvents& events_;
  GroupRanks world_;
  TraceRecorder trace_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;
  std::optional<BatchLoader> loader_;
  int64_t steps_done_ = 0;
  double tokens_seen_ = 0;
};

}  // namespace

StatusOr<int64_t> Train(const TrainerOptions& options, const RankProgram& program,
                        Communicator* communicator, const TrainerEvents& events) {
  return Trainer(options, program, communicator, events).Run();
}

int64_t ReportingRank(const RankProgram& program) {
  std::vector<int64_t> coordinates(program.mesh.num_axes(), 0);
  if (program.stage_axis >= 0) coordinates[program.stage_axis] = program.num_stages() - 1;
  return program.mesh.RankOf(coordinates);
}

}  // namespace trireme
