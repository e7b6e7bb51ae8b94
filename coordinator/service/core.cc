// Jobs: creating, finding, listing, planning, and carrying out what their machines decide. Workers
// are in core_workers.cc.
#include "coordinator/service/core.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/math.h"
#include "common/config/parse.h"
#include "coordinator/service/router_warnings.h"

namespace trireme {
namespace {

constexpr int kDefaultPage = 50;
constexpr int kLargestPage = 500;

std::string FullName(const std::string& name) {
  return name.rfind("jobs/", 0) == 0 ? name : "jobs/" + name;
}

}  // namespace

Core::Core(const CoreOptions& options, JobStore* store, Send send)
    : options_(options), store_(store), send_(std::move(send)), cluster_(options.cluster) {}

Status Core::Load(Now now) {
  ASSIGN_OR_RETURN(std::vector<StoredJob> stored, store_->Load());
  for (StoredJob& job : stored) {
    const std::string name = job.job.name();
    ASSIGN_OR_RETURN(JobSpec spec, ParseJob(job.job.spec_json(), name));
    JobEntry entry{job.number, std::move(spec), JobMachine::Restore(job.job, options_.limits),
                   job.request, std::move(job.events)};
    entry.num_stored = entry.events.size();
    JobEntry& placed = jobs_.emplace(name, std::move(entry)).first->second;
    names_[job.number] = name;
    if (!job.request.id.empty()) requests_[job.request.id] = name;
    next_number_ = std::max(next_number_, job.number + 1);
    ApplyJob(placed, CoordinatorRestarted{}, now);
    if (!placed.machine.ended()) queue_.Push(name, DemandOf(placed.spec.mesh));
  }
  return absl::OkStatus();
}

JobEntry* Core::FindEntry(const std::string& name) {
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? nullptr : &found->second;
}

StatusOr<const JobEntry*> Core::Find(const std::string& name) const {
  const auto found = jobs_.find(FullName(name));
  if (found == jobs_.end()) {
    return NotFound("there is no job '" + name + "'; `trireme list` shows what there is");
  }
  return &found->second;
}

v1::Job Core::View(const JobEntry& entry) {
  v1::Job job = entry.machine.job();
  for (v1::RouterWarning& warning :
       RouterWarnings(entry.journal.NewestSteps(kWarningSteps), entry.spec)) {
    *job.add_router_warnings() = std::move(warning);
  }
  return job;
}

StatusOr<v1::Job> Core::CreateJob(const JobSpec& spec, const RequestRecord& request, Now now) {
  if (const auto known = requests_.find(request.id);
      !request.id.empty() && known != requests_.end()) {
    const JobEntry& entry = jobs_.at(known->second);
    if (entry.request.text_hash == request.text_hash) return entry.machine.job();
    return absl::AlreadyExistsError("request_id " + request.id + " was used for " + known->second +
                                    " with another job text; choose a new request_id");
  }
  v1::Job job;
  job.set_name("jobs/" + spec.name + "-" + std::to_string(next_number_));
  job.set_display_name(spec.name);
  job.set_total_steps(spec.train.steps);
  job.set_spec_json(JobToJson(spec));
  JobOutput output;
  JobEntry entry{next_number_, spec, JobMachine::Create(job, now, output, options_.limits), request,
                 output.events};
  entry.num_stored = entry.events.size();
  const std::string name = job.name();
  RETURN_IF_ERROR(store_->Create({entry.number, entry.machine.job(), request, entry.events}));
  ++next_number_;
  names_[entry.number] = name;
  if (!request.id.empty()) requests_[request.id] = name;
  queue_.Push(name, DemandOf(spec.mesh));
  changed_.insert(name);
  plan_wanted_ = true;
  LOG(INFO) << "job created job=" << name << " steps=" << spec.train.steps;
  return jobs_.emplace(name, std::move(entry)).first->second.machine.job();
}

StatusOr<v1::Job> Core::CancelJob(const std::string& name, const std::string& reason, Now now) {
  RETURN_IF_ERROR(Find(name).status());
  JobEntry& entry = *FindEntry(FullName(name));
  const v1::Job& job = entry.machine.job();
  if (job.state() == v1::Job::SUCCEEDED || job.state() == v1::Job::FAILED) {
    return FailedPrecondition(job.name() + " has already " +
                              (job.state() == v1::Job::FAILED ? "failed: " : "succeeded: ") +
                              job.reason());
  }
  queue_.Remove(job.name());
  plan_wanted_ = true;
  ApplyJob(entry, CancelAsked{reason}, now);
  return entry.machine.job();
}

StatusOr<v1::ListJobsResponse> Core::ListJobs(const v1::ListJobsRequest& request) const {
  int64_t before = next_number_;
  if (!request.page_token().empty()) {
    char* end = nullptr;
    before = std::strtoll(request.page_token().c_str(), &end, 10);
    if (*end != '\0' || before < 1) {
      return InvalidArgument("page_token '" + request.page_token() +
                             "' is not one that ListJobs gave; leave it empty to start anew");
    }
  }
  if (request.page_size() < 0) return InvalidArgument("page_size must not be negative");
  const int wanted =
      request.page_size() == 0 ? kDefaultPage : std::min(request.page_size(), kLargestPage);
  v1::ListJobsResponse response;
  for (auto it = std::make_reverse_iterator(names_.lower_bound(before)); it != names_.rend();
       ++it) {
    const v1::Job& job = jobs_.at(it->second).machine.job();
    const auto& states = request.states();
    if (!states.empty() && std::find(states.begin(), states.end(), job.state()) == states.end()) {
      continue;
    }
    if (!request.display_name().empty() && request.display_name() != job.display_name()) continue;
    if (response.jobs_size() == wanted) {
      response.set_next_page_token(std::to_string(it->first + 1));
      break;
    }
    v1::Job& listed = *response.add_jobs();
    listed = job;
    listed.clear_spec_json();
    listed.clear_plan_summary();
  }
  return response;
}

StatusOr<std::shared_ptr<const std::string>> Core::FindProgram(const std::string& sha256) const {
  for (const auto& [name, entry] : jobs_) {
    const auto found = entry.programs.find(sha256);
    if (found != entry.programs.end()) return found->second;
  }
  return NotFound("no live job uses a program " + sha256);
}

// ---- planning

std::optional<PlanTask> Core::NextTask(Now now) {
  JobQueue::Decision decision = queue_.Choose(cluster_.workers());
  for (const JobQueue::Wait& wait : decision.waits) {
    ApplyJob(*FindEntry(wait.job), JobWaits{wait.reason}, now);
  }
  if (!decision.start.has_value()) return std::nullopt;
  JobEntry& entry = *FindEntry(decision.start->job);
  const Gang& gang = decision.start->gang;
  std::vector<std::string> workers;
  for (const GangWorker& worker : gang.workers) workers.push_back(worker.worker);
  ApplyJob(entry, JobStarts{workers, gang.num_devices()}, now);
  const AttemptId id{decision.start->job, entry.machine.job().attempt()};
  for (const GangWorker& worker : gang.workers) {
    ApplyCluster(DevicesTaken{worker.worker, id, worker.devices}, now);
  }
  return PlanTask{id, entry.spec, gang};
}

void Core::FinishTask(const PlanTask& task, const std::string& token,
                      StatusOr<PlannedAttempt> planned, Now now) {
  JobEntry& entry = *FindEntry(task.id.job);
  if (!planned.ok()) {
    ApplyJob(entry, JobPlanFailed{planned.status()}, now);
  } else if (!entry.machine.ended()) {
    entry.stages = std::move(planned->stages);
    entry.programs = std::move(planned->programs);
    planned->attempt.token = token;
    ApplyJob(entry, JobPlanned{std::move(planned->attempt)}, now);
  }
  if (entry.machine.placed()) return;
  for (const GangWorker& worker : task.gang.workers) Free(worker.worker, task.id, now);
}

// ---- carrying out

void Core::ApplyJob(JobEntry& entry, const JobInput& input, Now now) {
  Carry(entry, entry.machine.Apply(input, now), now);
}

void Core::Carry(JobEntry& entry, JobOutput output, Now now) {
  const v1::Job& job = entry.machine.job();
  for (v1::JobEvent& event : output.events) {
    LOG(INFO) << "job event job=" << job.name() << " attempt=" << event.attempt()
              << " state=" << v1::Job::State_Name(event.state()) << " code=" << event.code()
              << " reason=\"" << event.reason() << "\"";
    entry.events.push_back(std::move(event));
    changed_.insert(job.name());
  }
  StoreEvents(entry);
  if (entry.machine.ended()) entry.programs.clear();
  if (output.commit.has_value()) {
    const Status stored = store_->RecordCommit(*output.commit, now.wall_ms);
    if (!stored.ok()) {
      const CommitRecord& commit = *output.commit;
      ApplyJob(entry,
               CommitNotStored{commit.attempt, commit.step, std::string(ToStd(stored.message()))},
               now);
      return;
    }
  }
  for (const WorkerMessage& message : output.messages) send_(message.worker, message.message);
}

// What could not be stored is tried again with the next event or tick.
void Core::StoreEvents(JobEntry& entry) {
  if (entry.num_stored == entry.events.size()) return;
  const std::vector<v1::JobEvent> pending(entry.events.begin() + entry.num_stored,
                                          entry.events.end());
  const Status stored = store_->Update(entry.machine.job(), pending);
  if (stored.ok()) {
    entry.num_stored = entry.events.size();
  } else {
    LOG(ERROR) << "cannot store events job=" << entry.machine.job().name()
               << " pending=" << pending.size() << " error=\"" << stored.message() << "\"";
  }
}

void Core::Tick(Now now) {
  ApplyCluster(ClusterTick{}, now);
  for (auto& [name, entry] : jobs_) {
    StoreEvents(entry);
    if (!entry.machine.ended()) ApplyJob(entry, JobTick{}, now);
  }
}

}  // namespace trireme
