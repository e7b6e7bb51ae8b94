// The core made safe for threads: one lock around it, a thread that plans, a thread that ticks, and
// the streams of workers and followers at its rim.
#ifndef TRIREME_COORDINATOR_SERVICE_COORDINATOR_H_
#define TRIREME_COORDINATOR_SERVICE_COORDINATOR_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "common/base/status.h"
#include "coordinator/service/core.h"
#include "coordinator/service/notifier.h"
#include "coordinator/service/planner_interface.h"

namespace trireme {

// The way to one worker. Both calls come under the coordinator's lock and must not wait.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual void Send(const v1::WorkerDown& message) = 0;
  virtual void Close(const Status& status) = 0;
};

enum class Pull { kItem, kWait, kEnd };

// Where a follower of a job is.
struct WatchCursor {
  std::string name;
  int64_t revision = 0;
  int64_t snapshot_revision = -1;  // -1: no snapshot was sent
};
struct LogCursor {
  std::string name;
  int64_t sequence = 0;
  bool follow = false;
};
struct MetricsCursor {
  std::string name;
  int64_t next_step = 0;
  bool follow = false;
};

class Coordinator {
 public:
  struct Options {
    CoreOptions core;
    std::string version;
    int64_t tick_ms = 500;
    std::function<Now()> clock;  // empty: the system's
  };

  // Both must outlive the coordinator.
  Coordinator(const Options& options, JobStore* store, const PlannerInterface* planner);
  ~Coordinator();  // stops

  // Loads the store and starts the threads.
  Status Start();
  // Ends the threads and closes the worker streams; planning in progress is waited for.
  void Stop();

  const Options& options() const { return options_; }
  Notifier& notifier() { return notifier_; }

  // ---- people. Errors as in the .proto files.
  StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request);
  StatusOr<v1::Job> GetJob(const std::string& name);
  StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request);
  StatusOr<v1::Job> CancelJob(const v1::CancelJobRequest& request);
  StatusOr<v1::PlanJobResponse> PlanJob(const v1::PlanJobRequest& request);
  StatusOr<std::shared_ptr<const std::string>> GetProgram(const std::string& sha256);
  StatusOr<v1::GetScheduleResponse> GetSchedule(const std::string& name);
  v1::ListNodesResponse ListNodes();

  // The next thing to send to a follower; kWait: wait to be woken.
  Pull Next(WatchCursor& cursor, v1::WatchJobResponse& out);
  Pull Next(LogCursor& cursor, v1::TailLogsResponse& out);
  Pull Next(MetricsCursor& cursor, v1::StreamMetricsResponse& out);
  // The sequence after which the newest `count` lines of the job come.
  int64_t LogSequenceBefore(const std::string& name, int64_t count);

  // ---- workers
  // Admits the worker and makes `link` its way; an older link of the same worker is closed.
  // Registered and what should be are sent through it.
  Status Connect(const v1::Register& request, WorkerLink* link);
  // Ignored unless `link` is the worker's present one.
  void Says(WorkerLink* link, const v1::WorkerUp& message);
  // `link` is never used again after this returns.
  void Disconnect(WorkerLink* link);

 private:
  // Holds the lock; on the way out, wakes followers and the planning thread.
  class Change;

  struct LinkedWorker {
    std::string worker;
    int64_t incarnation = 0;
  };

  Now Time() const { return options_.clock(); }
  void PlanLoop();
  void TickLoop();
  void CloseLostLinks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Options options_;
  const PlannerInterface* planner_;
  Notifier notifier_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Core core_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, WorkerLink*> links_ ABSL_GUARDED_BY(mutex_);     // by worker
  std::map<WorkerLink*, LinkedWorker> workers_ ABSL_GUARDED_BY(mutex_);  // present links only
  bool plan_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread plan_thread_;
  std::thread tick_thread_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_COORDINATOR_H_
