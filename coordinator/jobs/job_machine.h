// The life of one job as a pure state machine: QUEUED -> STARTING (planning, placing, fetching,
// rendezvous, restoring)
// -> RUNNING -> SUCCEEDED | FAILED | CANCELLED, with CANCELLING in between. Every change is an
// event with a reason. What comes from another attempt than the current one changes nothing: that
// is the fence of checkpoints.
#ifndef TRIREME_COORDINATOR_JOBS_JOB_MACHINE_H_
#define TRIREME_COORDINATOR_JOBS_JOB_MACHINE_H_

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cluster/now.h"
#include "coordinator/jobs/attempt.h"
#include "trireme/v1/jobs.pb.h"

namespace trireme {

bool IsTerminal(v1::Job::State state);

// ---- what happens to a job

struct JobWaits {  // the queue looked at it: why it does not start
  std::string reason;
};
struct JobStarts {  // devices were taken: a new attempt begins with planning
  std::vector<std::string> workers;
  int64_t num_ranks = 0;
};
struct JobPlanned {
  AttemptPlan plan;
};
struct JobPlanFailed {
  Status status;
};
struct RankSaid {
  std::string worker;
  v1::RankUpdate update;
};
struct CommitSaid {
  v1::CommitResult result;
};
struct CommitNotStored {  // the store could not record the commit: it must not be made
  int64_t attempt = 0;
  int64_t step = 0;
  std::string reason;
};
struct WorkerGone {  // lease expired or daemon started anew
  std::string worker;
  int64_t attempt = 0;
  std::string code;
  std::string reason;
};
struct WorkerAway {  // its stream closed; the lease still runs
  std::string worker;
  int64_t attempt = 0;
};
struct WorkerBack {  // its stream is open (again)
  std::string worker;
  int64_t attempt = 0;  // of the assignment it has or should have
};
struct AssignmentLeft {  // all its processes are gone from the worker
  std::string worker;
  int64_t attempt = 0;
};
struct CancelAsked {
  std::string reason;
};
struct CoordinatorRestarted {};
struct JobTick {};
using JobInput = std::variant<JobWaits, JobStarts, JobPlanned, JobPlanFailed, RankSaid, CommitSaid,
                              CommitNotStored, WorkerGone, WorkerAway, WorkerBack, AssignmentLeft,
                              CancelAsked, CoordinatorRestarted, JobTick>;

// To be carried out in this order: store the events; store the commit, if any (if that fails:
// CommitNotStored, and none of the messages); send the messages.
struct JobOutput {
  std::vector<v1::JobEvent> events;
  std::optional<CommitRecord> commit;
  std::vector<WorkerMessage> messages;
};

struct JobLimits {
  int64_t blame_ms = 1500;       // how long a rank that blames others may wait for the true cause
  int64_t listen_ms = 600000;    // STARTING until all ranks listen
  int64_t restore_ms = 3600000;  // until all ranks are ready
  int64_t stop_ms = 30000;       // CANCELLING: then kill
  int64_t kill_ms = 90000;       // CANCELLING: then CANCELLED whoever answers
};

class JobMachine {
 public:
  // A new job: QUEUED. `job` has name, display name, total steps and spec; `events` gets its first
  // event.
  static JobMachine Create(v1::Job job, Now now, JobOutput& output, const JobLimits& limits = {});
  // One from the store.
  static JobMachine Restore(v1::Job job, const JobLimits& limits = {});

  JobOutput Apply(const JobInput& input, Now now);

  const v1::Job& job() const { return job_; }
  bool ended() const { return IsTerminal(job_.state()); }
  // True if processes of this attempt may (still) be on the worker because this job wants them
  // there.
  bool Wants(const std::string& worker, int64_t attempt) const;
  // True once the workers of the newest attempt were told of it.
  bool placed() const { return attempt_.number() == job_.attempt() && job_.attempt() > 0; }

 private:
  JobMachine(v1::Job job, const JobLimits& limits) : job_(std::move(job)), limits_(limits) {}

  void On(const JobWaits& input, Now now, JobOutput& output);
  void On(const JobStarts& input, Now now, JobOutput& output);
  void On(const JobPlanned& input, Now now, JobOutput& output);
  void On(const JobPlanFailed& input, Now now, JobOutput& output);
  void On(const RankSaid& input, Now now, JobOutput& output);
  void On(const CommitSaid& input, Now now, JobOutput& output);
  void On(const CommitNotStored& input, Now now, JobOutput& output);
  void On(const WorkerGone& input, Now now, JobOutput& output);
  void On(const WorkerAway& input, Now now, JobOutput& output);
  void On(const WorkerBack& input, Now now, JobOutput& output);
  void On(const AssignmentLeft& input, Now now, JobOutput& output);
  void On(const CancelAsked& input, Now now, JobOutput& output);
  void On(const CoordinatorRestarted& input, Now now, JobOutput& output);
  void On(const JobTick& input, Now now, JobOutput& output);

  void RankListens(const v1::RankUpdate& update, Now now, JobOutput& output);
  void RankIsReady(const v1::RankUpdate& update, Now now, JobOutput& output);
  void RankStepped(const v1::StepMetrics& metrics);
  void RankWrote(const v1::RankUpdate& update, Now now, JobOutput& output);
  void RankFailed(const RankSaid& said, Now now, JobOutput& output);
  void RankIsDone(const v1::RankUpdate& update, Now now, JobOutput& output);
  void TickStarting(Now now, JobOutput& output);
  void TickCancelling(Now now, JobOutput& output);

  bool Current(int64_t attempt) const { return placed() && attempt == job_.attempt(); }
  void Record(const std::string& code, const std::string& reason, Now now, JobOutput& output);
  void Enter(v1::Job::State state, v1::Job::SubPhase sub_phase, const std::string& code,
             const std::string& reason, Now now, JobOutput& output);
  // Ends the job and kills what is left of it.
  void Fail(const std::string& code, const std::string& reason, Now now, JobOutput& output);
  void SucceedIfComplete(Now now, JobOutput& output);
  void StopWorkers(bool kill, const std::string& reason, JobOutput& output);

  struct Blame {
    std::string reason;
    int64_t until_mono_ms = 0;
  };

  v1::Job job_;
  JobLimits limits_;
  Attempt attempt_;
  std::vector<std::string> starting_workers_;  // of an attempt that is still being planned
  std::optional<Blame> blame_;
  std::set<std::string> away_;  // workers of the attempt whose stream is closed
  int64_t phase_start_mono_ms_ = 0;
  bool killed_ = false;  // CANCELLING has come to its kill
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_JOBS_JOB_MACHINE_H_
