// The coordinator's mind in one piece: cluster, queue, jobs and store put together, without
// threads, clocks or sockets. Every call takes the time, changes the state, stores what must last,
// and then sends; the caller holds the one lock.
#ifndef TRIREME_COORDINATOR_SERVICE_CORE_H_
#define TRIREME_COORDINATOR_SERVICE_CORE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/config/job_spec.h"
#include "coordinator/cluster/cluster.h"
#include "coordinator/jobs/job_machine.h"
#include "coordinator/jobs/store.h"
#include "coordinator/queue/queue.h"
#include "coordinator/service/journal.h"
#include "coordinator/service/planning.h"
#include "trireme/v1/jobs.pb.h"
#include "trireme/v1/workers.pb.h"

namespace trireme {

// Everything about one job.
struct JobEntry {
  int64_t number = 0;
  JobSpec spec;
  JobMachine machine;
  RequestRecord request;
  std::vector<v1::JobEvent> events;  // all, by revision
  size_t num_stored = 0;             // events that the store has
  Journal journal;
  std::vector<v1::StageSchedule> stages;  // of the newest planned attempt
  std::map<std::string, std::shared_ptr<const std::string>> programs;
};

// A job that got its devices and must be planned, outside the lock.
struct PlanTask {
  AttemptId id;
  JobSpec spec;
  Gang gang;
};

struct CoreOptions {
  ClusterOptions cluster;
  JobLimits limits;
  int64_t beat_ms = 5000;
};

class Core {
 public:
  using Send = std::function<void(const std::string& worker, const v1::WorkerDown& message)>;

  // `store` must outlive the core.
  Core(const CoreOptions& options, JobStore* store, Send send);

  // Reads the store: queued jobs are queued again, others that had not ended have failed.
  Status Load(Now now);

  // ---- people
  StatusOr<v1::Job> CreateJob(const JobSpec& spec, const RequestRecord& request, Now now);
  StatusOr<v1::Job> CancelJob(const std::string& name, const std::string& reason, Now now);
  // By "jobs/{id}" or id.
  StatusOr<const JobEntry*> Find(const std::string& name) const;
  // The job as people see it: with what its newest steps say of its experts.
  static v1::Job View(const JobEntry& entry);
  StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) const;
  v1::ListNodesResponse ListNodes(Now now) const;
  StatusOr<std::shared_ptr<const std::string>> FindProgram(const std::string& sha256) const;
  const Cluster& cluster() const { return cluster_; }

  // ---- planning
  // The next job to plan, if one can start; its devices are taken. Call until nothing comes.
  std::optional<PlanTask> NextTask(Now now);
  void FinishTask(const PlanTask& task, const std::string& token, StatusOr<PlannedAttempt> planned,
                  Now now);

  // ---- workers
  StatusOr<v1::Registered> Register(const v1::Register& request, Now now);
  // After the answer of Register is on its way: says again what should be.
  void Resume(const v1::Register& request, Now now);
  void WorkerSays(const std::string& worker, const v1::WorkerUp& message, Now now);
  void StreamClosed(const std::string& worker, int64_t incarnation, Now now);

  void Tick(Now now);

  // Jobs about which there is something new since the last call.
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }
  // Whether NextTask may have another answer than the last time.
  bool TakePlanWanted() { return std::exchange(plan_wanted_, false); }

 private:
  using JobMap = std::map<std::string, JobEntry>;

  JobEntry* FindEntry(const std::string& name);
  void ApplyJob(JobEntry& entry, const JobInput& input, Now now);
  void Carry(JobEntry& entry, JobOutput output, Now now);
  void StoreEvents(JobEntry& entry);
  std::vector<ClusterAction> ApplyCluster(const ClusterEvent& event, Now now);
  void Free(const std::string& worker, const AttemptId& id, Now now);
  void RankSays(const std::string& worker, const v1::RankUpdate& update, Now now);
  void BeatSays(const std::string& worker, const v1::Beat& beat, Now now);
  void Ended(const std::string& worker, const v1::AssignmentEnded& ended, Now now);
  void SendStop(const std::string& worker, const AttemptId& id, const std::string& reason);

  CoreOptions options_;
  JobStore* store_;
  Send send_;
  Cluster cluster_;
  JobQueue queue_;
  JobMap jobs_;
  std::map<int64_t, std::string> names_;                    // by number
  std::map<std::string, std::string> requests_;             // job by request id
  std::map<std::string, std::vector<v1::RankBeat>> beats_;  // newest, by worker
  std::map<std::string, std::string> stuck_;                // last text logged, by "job rank"
  int64_t next_number_ = 1;
  std::set<std::string> changed_;
  bool plan_wanted_ = true;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_CORE_H_
