// Followers are woken only after the lock is given back, and by the same thread, so no wake is
// lost.
#include "coordinator/service/coordinator.h"

#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "common/base/log.h"
#include "common/base/math.h"
#include "common/config/parse.h"

namespace trireme {
namespace {

Now SystemNow() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  return {duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(),
          duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

// 128 random bits from the kernel, as hex.
std::string NewToken() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 32; ++i) token += "0123456789abcdef"[device() % 16];
  return token;
}

std::string FileName(const std::string& file, const std::string& fallback) {
  return file.empty() ? fallback : file;
}

}  // namespace

class Coordinator::Change {
 public:
  explicit Change(Coordinator& coordinator)
      : coordinator_(coordinator), lock_(coordinator.mutex_) {}
  ~Change() {
    const std::set<std::string> jobs = coordinator_.core_.TakeChanged();
    coordinator_.plan_wanted_ |= coordinator_.core_.TakePlanWanted();
    lock_.unlock();
    coordinator_.changed_.notify_all();
    coordinator_.notifier_.Wake(jobs);
  }

 private:
  Coordinator& coordinator_;
  std::unique_lock<std::mutex> lock_;
};

Coordinator::Coordinator(const Options& options, JobStore* store, const PlannerInterface* planner)
    : options_(options),
      planner_(planner),
      core_(options.core, store, [this](const std::string& worker, const v1::WorkerDown& message) {
        // Called by the core, hence under the lock. A worker that is away is told when it is back.
        const auto link = links_.find(worker);
        if (link != links_.end()) link->second->Send(message);
      }) {
  if (!options_.clock) options_.clock = SystemNow;
}

Coordinator::~Coordinator() { Stop(); }

Status Coordinator::Start() {
  {
    const Change change(*this);
    RETURN_IF_ERROR(core_.Load(Time()));
  }
  plan_thread_ = std::thread([this] { PlanLoop(); });
  tick_thread_ = std::thread([this] { TickLoop(); });
  return absl::OkStatus();
}

void Coordinator::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [worker, link] : links_) {
      link->Close(Unavailable("the coordinator stops; connect again"));
    }
  }
  changed_.notify_all();
  if (plan_thread_.joinable()) plan_thread_.join();
  if (tick_thread_.joinable()) tick_thread_.join();
}

void Coordinator::PlanLoop() {
  while (true) {
    std::optional<PlanTask> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || plan_wanted_; });
      if (stopping_) return;
      task = core_.NextTask(Time());
      if (!task.has_value()) plan_wanted_ = false;
      const std::set<std::string> jobs = core_.TakeChanged();
      lock.unlock();
      notifier_.Wake(jobs);
    }
    if (!task.has_value()) continue;
    StatusOr<PlannedAttempt> planned = PlanAttempt(task->spec, task->gang, *planner_);
    const Change change(*this);
    core_.FinishTask(*task, NewToken(), std::move(planned), Time());
  }
}

void Coordinator::TickLoop() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto wait = std::chrono::milliseconds(options_.tick_ms);
      if (changed_.wait_for(lock, wait, [&] { return stopping_; })) return;
      core_.Tick(Time());
      CloseLostLinks();
      const std::set<std::string> jobs = core_.TakeChanged();
      plan_wanted_ |= core_.TakePlanWanted();
      lock.unlock();
      changed_.notify_all();
      notifier_.Wake(jobs);
    }
    notifier_.WakeAll();  // heartbeats
  }
}

// A worker that was taken for lost must introduce itself again, even if its stream never broke.
void Coordinator::CloseLostLinks() {
  for (const auto& [link, linked] : workers_) {
    const WorkerRecord* worker = core_.cluster().Find(linked.worker);
    if (worker == nullptr || worker->state != WorkerState::kLost) continue;
    link->Close(Unavailable("the lease of worker " + linked.worker + " has expired"));
  }
}

// ---- people

StatusOr<v1::Job> Coordinator::CreateJob(const v1::CreateJobRequest& request) {
  const std::string file = FileName(request.file(), "job");
  const std::vector<std::string> overrides(request.overrides().begin(), request.overrides().end());
  ASSIGN_OR_RETURN(const JobSpec spec, ParseJob(request.job_text(), file, overrides));
  if (request.request_id().size() > 64) {
    return InvalidArgument("request_id has " + std::to_string(request.request_id().size()) +
                           " characters; at most 64 are kept, use a UUID");
  }
  const std::string canonical = JobToJson(spec);
  if (!request.validate_only()) {
    const Change change(*this);
    return core_.CreateJob(spec, {request.request_id(), StableHash(canonical)}, Time());
  }
  v1::PlanJobRequest plan;
  plan.set_job_text(canonical);
  plan.set_file(file);
  ASSIGN_OR_RETURN(const v1::PlanJobResponse planned, PlanJob(plan));
  v1::Job job;
  job.set_display_name(spec.name);
  job.set_total_steps(spec.train.steps);
  job.set_spec_json(canonical);
  job.set_plan_summary(planned.summary_text());
  return job;
}

StatusOr<v1::Job> Coordinator::GetJob(const std::string& name) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const JobEntry* entry, core_.Find(name));
  return Core::View(*entry);
}

StatusOr<v1::ListJobsResponse> Coordinator::ListJobs(const v1::ListJobsRequest& request) {
  const std::lock_guard lock(mutex_);
  return core_.ListJobs(request);
}

StatusOr<v1::Job> Coordinator::CancelJob(const v1::CancelJobRequest& request) {
  const Change change(*this);
  return core_.CancelJob(request.name(), request.reason(), Time());
}

StatusOr<v1::PlanJobResponse> Coordinator::PlanJob(const v1::PlanJobRequest& request) {
  const std::vector<std::string> overrides(request.overrides().begin(), request.overrides().end());
  ASSIGN_OR_RETURN(const JobSpec spec,
                   ParseJob(request.job_text(), FileName(request.file(), "job"), overrides));
  Topology topology;
  if (!request.fleet_text().empty()) {
    ASSIGN_OR_RETURN(topology,
                     ParseFleet(request.fleet_text(), FileName(request.fleet_file(), "fleet")));
  } else {
    GangDecision decision;
    {
      const std::lock_guard lock(mutex_);
      decision = PlaceGangOnIdle(DemandOf(spec.mesh), core_.cluster().workers());
    }
    if (!decision.gang.has_value()) return FailedPrecondition(decision.reason);
    ASSIGN_OR_RETURN(topology, TopologyOf(*decision.gang));
  }
  return PlanTexts(spec, topology, request, *planner_);
}

StatusOr<std::shared_ptr<const std::string>> Coordinator::GetProgram(const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  return core_.FindProgram(sha256);
}

StatusOr<v1::GetScheduleResponse> Coordinator::GetSchedule(const std::string& name) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const JobEntry* entry, core_.Find(name));
  const v1::Job& job = entry->machine.job();
  if (entry->stages.empty()) {
    return FailedPrecondition(job.name() + " is " + v1::Job::State_Name(job.state()) +
                              " and was not planned by this coordinator (yet): " + job.reason());
  }
  v1::GetScheduleResponse response;
  response.set_name(job.name());
  response.set_attempt(job.attempt());
  for (const v1::StageSchedule& stage : entry->stages) *response.add_stages() = stage;
  return response;
}

v1::ListNodesResponse Coordinator::ListNodes() {
  const std::lock_guard lock(mutex_);
  return core_.ListNodes(Time());
}

// ---- followers

Pull Coordinator::Next(WatchCursor& cursor, v1::WatchJobResponse& out) {
  const std::lock_guard lock(mutex_);
  const auto found = core_.Find(cursor.name);
  if (!found.ok()) return Pull::kEnd;
  const JobEntry& entry = **found;
  const auto num_events = static_cast<int64_t>(entry.events.size());
  if (cursor.revision < num_events) {
    const v1::JobEvent& event = entry.events[cursor.revision];  // revisions count from 1
    cursor.revision = event.revision();
    *out.mutable_event() = event;
    out.set_revision(event.revision());
    return Pull::kItem;
  }
  const v1::Job& job = entry.machine.job();
  const bool snapshot_due = cursor.snapshot_revision < 0 ||
                            (entry.machine.ended() && cursor.snapshot_revision < job.revision());
  if (snapshot_due) {
    cursor.snapshot_revision = job.revision();
    *out.mutable_snapshot() = Core::View(entry);
    out.set_revision(job.revision());
    return Pull::kItem;
  }
  return entry.machine.ended() ? Pull::kEnd : Pull::kWait;
}

Pull Coordinator::Next(LogCursor& cursor, v1::TailLogsResponse& out) {
  const std::lock_guard lock(mutex_);
  const auto found = core_.Find(cursor.name);
  if (!found.ok()) return Pull::kEnd;
  if (const v1::LogLine* line = (*found)->journal.NextLine(cursor.sequence)) {
    cursor.sequence = line->sequence();
    *out.mutable_line() = *line;
    return Pull::kItem;
  }
  return cursor.follow && !(*found)->machine.ended() ? Pull::kWait : Pull::kEnd;
}

Pull Coordinator::Next(MetricsCursor& cursor, v1::StreamMetricsResponse& out) {
  const std::lock_guard lock(mutex_);
  const auto found = core_.Find(cursor.name);
  if (!found.ok()) return Pull::kEnd;
  if (const Journal::Step* step = (*found)->journal.NextStep(cursor.next_step)) {
    cursor.next_step = step->metrics.step() + 1;
    out.set_attempt(step->attempt);
    *out.mutable_step() = step->metrics;
    return Pull::kItem;
  }
  return cursor.follow && !(*found)->machine.ended() ? Pull::kWait : Pull::kEnd;
}

int64_t Coordinator::LogSequenceBefore(const std::string& name, int64_t count) {
  const std::lock_guard lock(mutex_);
  const auto found = core_.Find(name);
  return found.ok() ? (*found)->journal.SequenceBefore(count) : 0;
}

// ---- workers

Status Coordinator::Connect(const v1::Register& request, WorkerLink* link) {
  const Change change(*this);
  if (stopping_) return Unavailable("the coordinator stops; connect again");
  ASSIGN_OR_RETURN(const v1::Registered registered, core_.Register(request, Time()));
  if (const auto old = links_.find(request.worker()); old != links_.end()) {
    old->second->Close(Unavailable("a newer stream of worker " + request.worker() + " is open"));
    workers_.erase(old->second);
  }
  links_[request.worker()] = link;
  workers_[link] = {request.worker(), request.incarnation()};
  v1::WorkerDown message;
  *message.mutable_registered() = registered;
  link->Send(message);
  core_.Resume(request, Time());
  return absl::OkStatus();
}

void Coordinator::Says(WorkerLink* link, const v1::WorkerUp& message) {
  const Change change(*this);
  const auto found = workers_.find(link);
  if (found != workers_.end()) core_.WorkerSays(found->second.worker, message, Time());
}

void Coordinator::Disconnect(WorkerLink* link) {
  const Change change(*this);
  const auto found = workers_.find(link);
  if (found == workers_.end()) return;
  const LinkedWorker linked = found->second;
  workers_.erase(found);
  links_.erase(linked.worker);
  core_.StreamClosed(linked.worker, linked.incarnation, Time());
}

}  // namespace trireme
