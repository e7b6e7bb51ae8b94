// Each handler first asks whether the input concerns the current attempt in its present state, then
// changes the state in one place (Enter), which writes the event.
#include "coordinator/jobs/job_machine.h"

#include <algorithm>

#include "common/base/check.h"
#include "coordinator/jobs/timestamp.h"

namespace trireme {
namespace {

using v1::Job;

std::string Count(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// Errors with which a rank passes on what another one suffered.
bool BlamesOthers(int32_t code) {
  const auto status = static_cast<absl::StatusCode>(code);
  return status == absl::StatusCode::kAborted || status == absl::StatusCode::kUnavailable ||
         status == absl::StatusCode::kDeadlineExceeded;
}

}  // namespace

bool IsTerminal(Job::State state) {
  return state == Job::SUCCEEDED || state == Job::FAILED || state == Job::CANCELLED;
}

JobMachine JobMachine::Create(Job job, Now now, JobOutput& output, const JobLimits& limits) {
  JobMachine machine(std::move(job), limits);
  *machine.job_.mutable_create_time() = ToTimestamp(now.wall_ms);
  machine.Enter(Job::QUEUED, Job::SUB_PHASE_UNSPECIFIED, "CREATED", "waits for the scheduler", now,
                output);
  return machine;
}

JobMachine JobMachine::Restore(Job job, const JobLimits& limits) {
  return JobMachine(std::move(job), limits);
}

JobOutput JobMachine::Apply(const JobInput& input, Now now) {
  JobOutput output;
  std::visit([&](const auto& i) { On(i, now, output); }, input);
  return output;
}

bool JobMachine::Wants(const std::string& worker, int64_t attempt) const {
  if (ended() || attempt != job_.attempt()) return false;
  if (placed()) return attempt_.Uses(worker) && !attempt_.HasLeft(worker);
  return std::find(starting_workers_.begin(), starting_workers_.end(), worker) !=
         starting_workers_.end();
}

void JobMachine::Record(const std::string& code, const std::string& reason, Now now,
                        JobOutput& output) {
  job_.set_revision(job_.revision() + 1);
  v1::JobEvent event;
  event.set_revision(job_.revision());
  *event.mutable_time() = ToTimestamp(now.wall_ms);
  event.set_state(job_.state());
  event.set_sub_phase(job_.sub_phase());
  event.set_attempt(job_.attempt());
  event.set_code(code);
  event.set_reason(reason);
  output.events.push_back(std::move(event));
}

void JobMachine::Enter(Job::State state, Job::SubPhase sub_phase, const std::string& code,
                       const std::string& reason, Now now, JobOutput& output) {
  CHECK(!ended()) << job_.name() << " has ended and cannot become " << Job::State_Name(state);
  job_.set_state(state);
  job_.set_sub_phase(sub_phase);
  job_.set_reason(reason);
  phase_start_mono_ms_ = now.mono_ms;
  if (IsTerminal(state)) *job_.mutable_end_time() = ToTimestamp(now.wall_ms);
  Record(code, reason, now, output);
}

void JobMachine::StopWorkers(bool kill, const std::string& reason, JobOutput& output) {
  if (!placed()) return;
  for (const std::string& worker : attempt_.workers()) {
    if (attempt_.HasLeft(worker)) continue;
    output.messages.push_back(attempt_.StopMessage(worker, kill, reason));
  }
}

void JobMachine::Fail(const std::string& code, const std::string& reason, Now now,
                      JobOutput& output) {
  Enter(Job::FAILED, Job::SUB_PHASE_UNSPECIFIED, code, reason, now, output);
  StopWorkers(/*kill=*/true, "the job failed: " + reason, output);
}

// ---- queue and planning

void JobMachine::On(const JobWaits& input, Now now, JobOutput& output) {
  if (job_.state() != Job::QUEUED || job_.reason() == input.reason) return;
  job_.set_reason(input.reason);
  Record("WAITING", input.reason, now, output);
}

void JobMachine::On(const JobStarts& input, Now now, JobOutput& output) {
  CHECK(job_.state() == Job::QUEUED) << job_.name() << " starts while not queued";
  job_.set_attempt(job_.attempt() + 1);
  job_.set_num_ranks(input.num_ranks);
  *job_.mutable_start_time() = ToTimestamp(now.wall_ms);
  job_.clear_hosts();
  for (const std::string& worker : input.workers) job_.add_hosts(worker);
  starting_workers_ = input.workers;
  away_.clear();
  Enter(Job::STARTING, Job::PLANNING, "PLANNING",
        "plans for " + Count(input.num_ranks, "device") + " on " +
            Count(static_cast<int64_t>(input.workers.size()), "worker"),
        now, output);
}

void JobMachine::On(const JobPlanned& input, Now now, JobOutput& output) {
  if (job_.state() != Job::STARTING || job_.sub_phase() != Job::PLANNING) return;
  attempt_ = Attempt(job_.name(), job_.attempt(), input.plan);
  job_.set_plan_summary(input.plan.summary);
  job_.clear_hosts();
  for (const std::string& worker : attempt_.workers()) job_.add_hosts(worker);
  Enter(Job::STARTING, Job::PLACING, "PLACING",
        "places " + Count(attempt_.num_ranks(), "rank") + " on " +
            Count(static_cast<int64_t>(attempt_.workers().size()), "worker"),
        now, output);
  for (const std::string& worker : attempt_.workers()) {
    output.messages.push_back(attempt_.AssignMessage(worker));
  }
  Enter(Job::STARTING, Job::FETCHING, "FETCHING", "workers fetch programs and start rank processes",
        now, output);
}

void JobMachine::On(const JobPlanFailed& input, Now now, JobOutput& output) {
  if (job_.state() != Job::STARTING || job_.sub_phase() != Job::PLANNING) return;
  Fail("PLAN_FAILED", std::string(ToStd(input.status.message())), now, output);
}

// ---- ranks

void JobMachine::On(const RankSaid& input, Now now, JobOutput& output) {
  const v1::RankUpdate& update = input.update;
  if (ended() || !Current(update.attempt()) || !attempt_.Owns(input.worker, update.rank())) return;
  switch (update.update_case()) {
    case v1::RankUpdate::kListening:
      return RankListens(update, now, output);
    case v1::RankUpdate::kReady:
      return RankIsReady(update, now, output);
    case v1::RankUpdate::kStep:
      return RankStepped(update.step());
    case v1::RankUpdate::kCheckpoint:
      return RankWrote(update, now, output);
    case v1::RankUpdate::kFailed:
      return RankFailed(input, now, output);
    case v1::RankUpdate::kDone:
      return RankIsDone(update, now, output);
    case v1::RankUpdate::kLog:
    case v1::RankUpdate::UPDATE_NOT_SET:
      return;
  }
}

void JobMachine::RankListens(const v1::RankUpdate& update, Now now, JobOutput& output) {
  attempt_.SetListening(update.rank(), update.listening().address());
  if (job_.state() != Job::STARTING) return;
  if (job_.sub_phase() == Job::FETCHING) {
    Enter(Job::STARTING, Job::RENDEZVOUS, "RENDEZVOUS", "the first ranks listen", now, output);
  }
  if (job_.sub_phase() != Job::RENDEZVOUS || !attempt_.AllListening()) return;
  for (const std::string& worker : attempt_.workers()) {
    output.messages.push_back(attempt_.RendezvousMessage(worker));
  }
  Enter(Job::STARTING, Job::RESTORING, "RESTORING",
        "all " + Count(attempt_.num_ranks(), "rank") +
            " listen; they connect and make or load weights",
        now, output);
}

void JobMachine::RankIsReady(const v1::RankUpdate& update, Now now, JobOutput& output) {
  attempt_.SetReady(update.rank(), update.ready().first_step());
  if (job_.state() != Job::STARTING) return;
  const int64_t planned = attempt_.PlannedBytes(update.rank());
  if (update.ready().arena_bytes() != planned) {
    return Fail("MEMORY_MISMATCH",
                "rank " + std::to_string(update.rank()) + " allocated " +
                    std::to_string(update.ready().arena_bytes()) + " bytes but the plan says " +
                    std::to_string(planned) + "; worker and coordinator differ in version",
                now, output);
  }
  const std::string disagree = attempt_.FirstStepsDisagree();
  if (!disagree.empty()) return Fail("CHECKPOINT_MISMATCH", disagree, now, output);
  if (!attempt_.AllReady()) return;
  job_.set_step(std::max(job_.step(), attempt_.first_step()));
  Enter(Job::RUNNING, Job::SUB_PHASE_UNSPECIFIED, "RUNNING",
        Count(attempt_.num_ranks(), "rank") + " train from step " +
            std::to_string(attempt_.first_step()),
        now, output);
}

void JobMachine::RankStepped(const v1::StepMetrics& metrics) {
  if (metrics.step() < job_.step()) return;
  job_.set_step(metrics.step());
  job_.set_loss(metrics.loss());
}

void JobMachine::RankWrote(const v1::RankUpdate& update, Now now, JobOutput& output) {
  std::string problem;
  output.commit = attempt_.AddCheckpoint(update.rank(), update.checkpoint(), problem);
  if (!problem.empty()) return Fail("CHECKPOINT_FAILED", problem, now, output);
  if (output.commit.has_value()) output.messages.push_back(attempt_.CommitMessage(*output.commit));
}

void JobMachine::RankFailed(const RankSaid& said, Now now, JobOutput& output) {
  const v1::RankUpdate& update = said.update;
  if (job_.state() == Job::CANCELLING)
    return;  // it was told to stop; its worker says when it has left
  const std::string reason = "rank " + std::to_string(update.rank()) + " on worker " + said.worker +
                             " failed: " + update.failed().message();
  if (!BlamesOthers(update.failed().code())) return Fail("RANK_FAILED", reason, now, output);
  if (!blame_.has_value()) blame_ = Blame{reason, now.mono_ms + limits_.blame_ms};
}

void JobMachine::RankIsDone(const v1::RankUpdate& update, Now now, JobOutput& output) {
  attempt_.SetDone(update.rank(), update.done().step());
  if (job_.state() == Job::CANCELLING) return;
  if (update.done().step() < job_.total_steps()) {
    return Fail("RANK_FAILED",
                "rank " + std::to_string(update.rank()) + " stopped after step " +
                    std::to_string(update.done().step()) + " of " +
                    std::to_string(job_.total_steps()) + " though nobody asked for it",
                now, output);
  }
  SucceedIfComplete(now, output);
}

void JobMachine::SucceedIfComplete(Now now, JobOutput& output) {
  if (job_.state() == Job::CANCELLING || !attempt_.AllDone() || attempt_.HasPendingCommits()) {
    return;
  }
  job_.set_step(std::max(job_.step(), job_.total_steps()));
  std::string reason = "all " + std::to_string(job_.total_steps()) + " steps are done";
  if (job_.checkpoint_step() > 0) {
    reason += "; the last checkpoint is of step " + std::to_string(job_.checkpoint_step()) +
              " in " + job_.checkpoint_folder();
  }
  Enter(Job::SUCCEEDED, Job::SUB_PHASE_UNSPECIFIED, "SUCCEEDED", reason, now, output);
}

void JobMachine::On(const CommitSaid& input, Now now, JobOutput& output) {
  const v1::CommitResult& result = input.result;
  if (ended() || !Current(result.attempt())) return;
  attempt_.CommitAnswered(result.step());
  const std::string step = "step " + std::to_string(result.step());
  if (result.code() != 0) {
    const std::string reason = "the manifest of " + step + " could not be written by worker " +
                               attempt_.WorkerOf(0) + ": " + result.message();
    if (job_.state() == Job::CANCELLING) return Record("CHECKPOINT_FAILED", reason, now, output);
    return Fail("CHECKPOINT_FAILED", reason, now, output);
  }
  if (result.step() > job_.checkpoint_step()) {
    job_.set_checkpoint_step(result.step());
    job_.set_checkpoint_folder(result.folder());
    Record("CHECKPOINT_COMMITTED", "checkpoint of " + step + " is complete: " + result.folder(),
           now, output);
  }
  SucceedIfComplete(now, output);
}

void JobMachine::On(const CommitNotStored& input, Now now, JobOutput& output) {
  if (ended() || !Current(input.attempt)) return;
  attempt_.CommitAnswered(input.step);
  const std::string reason = "the commit of step " + std::to_string(input.step) +
                             " could not be recorded: " + input.reason;
  if (job_.state() == Job::CANCELLING) return Record("CHECKPOINT_FAILED", reason, now, output);
  Fail("CHECKPOINT_FAILED", reason, now, output);
}

// ---- workers

void JobMachine::On(const WorkerGone& input, Now now, JobOutput& output) {
  if (!Wants(input.worker, input.attempt)) return;
  if (!placed()) return Fail(input.code, input.reason, now, output);
  const bool was_needed = !attempt_.WorkerDone(input.worker) ||
                          (attempt_.HasPendingCommits() && attempt_.Owns(input.worker, 0));
  attempt_.SetLeft(input.worker);
  if (job_.state() == Job::CANCELLING) return TickCancelling(now, output);
  if (was_needed) Fail(input.code, input.reason, now, output);
}

void JobMachine::On(const WorkerAway& input, Now now, JobOutput& output) {
  if (Wants(input.worker, input.attempt)) away_.insert(input.worker);
}

void JobMachine::On(const WorkerBack& input, Now now, JobOutput& output) {
  away_.erase(input.worker);
  if (!Wants(input.worker, input.attempt) || !placed()) return;
  if (job_.state() == Job::CANCELLING) {
    output.messages.push_back(attempt_.StopMessage(input.worker, killed_, job_.reason()));
    return;
  }
  output.messages.push_back(attempt_.AssignMessage(input.worker));
  if (attempt_.AllListening()) output.messages.push_back(attempt_.RendezvousMessage(input.worker));
  for (WorkerMessage& message : attempt_.PendingCommitMessages()) {
    if (message.worker == input.worker) output.messages.push_back(std::move(message));
  }
}

void JobMachine::On(const AssignmentLeft& input, Now now, JobOutput& output) {
  if (ended() || !Current(input.attempt) || !attempt_.Uses(input.worker)) return;
  attempt_.SetLeft(input.worker);
  if (job_.state() == Job::CANCELLING) return TickCancelling(now, output);
  if (attempt_.WorkerDone(input.worker)) return;
  const std::string reason = blame_.has_value()
                                 ? blame_->reason
                                 : "worker " + input.worker + " ended its ranks without a result";
  if (!blame_.has_value()) blame_ = Blame{reason, now.mono_ms + limits_.blame_ms};
}

// ---- cancel, restart, time

void JobMachine::On(const CancelAsked& input, Now now, JobOutput& output) {
  if (ended() || job_.state() == Job::CANCELLING) return;
  const std::string reason = input.reason.empty() ? "cancel was asked for" : input.reason;
  if (!placed()) {
    Enter(Job::CANCELLED, Job::SUB_PHASE_UNSPECIFIED, "CANCELLED", reason, now, output);
    return;
  }
  killed_ = job_.state() == Job::STARTING;
  Enter(Job::CANCELLING, Job::SUB_PHASE_UNSPECIFIED, "CANCEL_REQUESTED", reason, now, output);
  StopWorkers(killed_, reason, output);
  TickCancelling(now, output);
}

void JobMachine::On(const CoordinatorRestarted& input, Now now, JobOutput& output) {
  if (ended() || job_.state() == Job::QUEUED) return;
  Fail("COORDINATOR_RESTARTED",
       "coordinator restarted while the job was " + Job::State_Name(job_.state()), now, output);
}

void JobMachine::On(const JobTick& input, Now now, JobOutput& output) {
  if (ended()) return;
  if (job_.state() == Job::CANCELLING) return TickCancelling(now, output);
  if (blame_.has_value() && now.mono_ms >= blame_->until_mono_ms) {
    if (away_.empty()) return Fail("RANK_FAILED", blame_->reason, now, output);
    return Fail("WORKER_LOST",
                "worker " + *away_.begin() +
                    " has closed its stream: it, its host or the network " + "is gone; then " +
                    blame_->reason,
                now, output);
  }
  if (job_.state() == Job::STARTING && placed()) TickStarting(now, output);
}

void JobMachine::TickStarting(Now now, JobOutput& output) {
  const int64_t waited_ms = now.mono_ms - phase_start_mono_ms_;
  const std::string waited = " after " + std::to_string(waited_ms / 1000) + " s";
  if (job_.sub_phase() == Job::RESTORING) {
    if (waited_ms < limits_.restore_ms) return;
    return Fail("START_TIMEOUT", "not ready" + waited + ": " + attempt_.NotReady(), now, output);
  }
  if (waited_ms < limits_.listen_ms) return;
  Fail("START_TIMEOUT", "not listening" + waited + ": " + attempt_.NotListening(), now, output);
}

void JobMachine::TickCancelling(Now now, JobOutput& output) {
  const int64_t waited_ms = now.mono_ms - phase_start_mono_ms_;
  const std::string reason = job_.reason();
  if (attempt_.AllLeft() || waited_ms >= limits_.kill_ms) {
    const std::string note = attempt_.AllLeft() ? "" : " (not all workers have answered)";
    Enter(Job::CANCELLED, Job::SUB_PHASE_UNSPECIFIED, "CANCELLED", reason + note, now, output);
    return;
  }
  if (killed_ || waited_ms < limits_.stop_ms) return;
  killed_ = true;
  StopWorkers(/*kill=*/true, reason, output);
}

}  // namespace trireme
