// Decisions are the Assignments'; this file carries them out and keeps the way to the coordinator.
#include "worker/agent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/log.h"
#include "common/formats/checkpoint_manifest.h"

namespace trireme {
namespace {

constexpr size_t kMaxUnsent = 10000;
constexpr int64_t kTickMs = 100;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

AssignmentOptions WithFolders(AssignmentOptions options, const std::string& work_folder) {
  if (options.flight_folder.empty()) options.flight_folder = work_folder + "/flight";
  if (options.cache_folder.empty()) options.cache_folder = work_folder + "/tokens";
  return options;
}

bool IsMeasurement(const v1::WorkerUp& message) {
  return message.has_rank() && (message.rank().has_step() || message.rank().has_log());
}

}  // namespace

Agent::Agent(const AgentOptions& options)
    : options_(options),
      cache_(options.work_folder + "/programs", [this](const std::string& sha256) {
        return FetchProgramBytes(connection_->channel(), sha256);
      }) {
  options_.assignment = WithFolders(options.assignment, options.work_folder);
}

v1::Register Agent::Registration() {
  v1::Register request;
  request.set_worker(options_.name);
  request.set_host(options_.host);
  request.set_slice(options_.slice);
  request.set_device_kind(options_.device_kind);
  request.set_num_devices(options_.num_devices);
  request.set_incarnation(options_.incarnation);
  request.set_version(options_.version);
  request.set_op_table_hash(options_.op_table_hash);
  const std::lock_guard lock(running_ids_mutex_);
  for (const v1::AssignmentId& id : running_ids_) *request.add_running() = id;
  return request;
}

void Agent::Publish() {
  const std::lock_guard lock(running_ids_mutex_);
  running_ids_.clear();
  for (const auto& [key, running] : running_) {
    v1::AssignmentId& id = running_ids_.emplace_back();
    id.set_job(key.first);
    id.set_attempt(key.second);
  }
}

Status Agent::Run() {
  for (const std::string& folder :
       {options_.assignment.flight_folder, options_.assignment.cache_folder}) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return InvalidArgument("cannot make folder " + folder + ": " + error.message() +
                             "; choose another --work-dir");
    }
  }
  disconnected_since_ms_ = NowMs();
  connection_ = std::make_unique<Connection>(
      options_.coordinator,
      Connection::Callbacks{
          [this] { return Registration(); },
          [this](const v1::WorkerDown& message) {
            inbox_.Post([this, message] { Heard(message); });
          },
          [this](const Status& status) { inbox_.Post([this, status] { OnClosed(status); }); }});
  background_ = std::make_unique<InboxThread>();
  const auto all_ended = [&] {
    return std::all_of(running_.begin(), running_.end(),
                       [](const auto& entry) { return entry.second.assignment->ended(); });
  };
  while (!stopping_ || !all_ended()) {
    inbox_.Run(kTickMs);
    Tick();
  }
  background_.reset();
  connection_.reset();
  return end_;
}

void Agent::Stop() {
  inbox_.Post([this] {
    stopping_ = true;
    for (const auto& [key, running] : running_) {
      With(key, [](Assignment& assignment) { return assignment.Stop(/*kill=*/true, NowMs()); });
    }
  });
}

// ---- from the coordinator

void Agent::Heard(const v1::WorkerDown& message) {
  switch (message.message_case()) {
    case v1::WorkerDown::kRegistered:
      return OnRegistered(message.registered());
    case v1::WorkerDown::kAssign:
      return OnAssign(message.assign());
    case v1::WorkerDown::kRendezvous:
      return With(
          {message.rendezvous().job(), message.rendezvous().attempt()},
          [&](Assignment& assignment) { return assignment.Rendezvous(message.rendezvous()); });
    case v1::WorkerDown::kStop:
      return OnStop(message.stop());
    case v1::WorkerDown::kCommit:
      return OnCommit(message.commit());
    case v1::WorkerDown::kRelease:
      return OnRelease(message.release());
    case v1::WorkerDown::MESSAGE_NOT_SET:
      return;
  }
}

void Agent::OnRegistered(const v1::Registered& registered) {
  LOG(INFO) << "registered coordinator=" << options_.coordinator
            << " lease_ms=" << registered.lease_ms();
  connected_ = ever_connected_ = true;
  beat_interval_ms_ = std::max<int64_t>(100, registered.beat_interval_ms());
  next_beat_ms_ = 0;
  for (const v1::WorkerUp& message : unsent_) connection_->Send(message);
  unsent_.clear();
  for (const auto& [key, running] : running_) Carry(key, running.assignment->Repeat());
}

void Agent::OnClosed(const Status& status) {
  if (connected_) disconnected_since_ms_ = NowMs();
  connected_ = false;
  LOG(WARNING) << "no stream to the coordinator address=" << options_.coordinator << " reason=\""
               << status.message() << "\"";
  const bool is_refusal = absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
  if (ever_connected_ || !is_refusal) return;
  end_ = status;
  stopping_ = true;
}

void Agent::OnAssign(const v1::Assign& assign) {
  const Key key{assign.job(), assign.attempt()};
  if (running_.contains(key) || stopping_) return;
  v1::Assign resolved = assign;
  if (assign.load_newest()) {
    const auto newest = NewestCheckpoint(assign.checkpoint().path());
    if (newest.ok() && newest->has_value()) {
      resolved.mutable_checkpoint()->set_load(**newest);
      LOG(INFO) << "loads checkpoint job=" << assign.job() << " folder=" << **newest;
    }
    if (!newest.ok()) {
      LOG(WARNING) << "cannot look for checkpoints job=" << assign.job() << " reason=\""
                   << newest.status().message() << "\"";
    }
  }
  LOG(INFO) << "assigned job=" << assign.job() << " attempt=" << assign.attempt()
            << " ranks=" << assign.ranks_size();
  running_[key].assignment = std::make_unique<Assignment>(resolved, options_.assignment);
  Publish();
  Carry(key, running_[key].assignment->Begin());
}

void Agent::OnStop(const v1::Stop& stop) {
  const Key key{stop.job(), stop.attempt()};
  if (!running_.contains(key)) {  // it never came here, or was released: say that nothing is left
    v1::WorkerUp up;
    up.mutable_ended()->set_job(stop.job());
    up.mutable_ended()->set_attempt(stop.attempt());
    connection_->Send(up);
    return;
  }
  LOG(INFO) << "stops job=" << stop.job() << " attempt=" << stop.attempt()
            << " kill=" << stop.kill() << " reason=\"" << stop.reason() << "\"";
  With(key, [&](Assignment& assignment) { return assignment.Stop(stop.kill(), NowMs()); });
}

void Agent::OnCommit(const v1::CommitCheckpoint& commit) {
  background_->Post([this, commit] {
    const Status status = options_.commit_checkpoint(commit);
    v1::WorkerUp up;
    v1::CommitResult& result = *up.mutable_commit();
    result.set_job(commit.job());
    result.set_attempt(commit.attempt());
    result.set_step(commit.step());
    result.set_folder(commit.folder());
    result.set_code(static_cast<int32_t>(status.code()));
    result.set_message(std::string(ToStd(status.message())));
    inbox_.Post([this, up] { connection_->Send(up); });  // asked again after a reconnect
  });
}

void Agent::OnRelease(const v1::ReleaseAssignment& release) {
  const Key key{release.job(), release.attempt()};
  const auto found = running_.find(key);
  if (found == running_.end() || !found->second.assignment->ended()) return;
  for (const v1::RankBeat& beat : found->second.assignment->Beats()) {
    const std::string path = found->second.assignment->FlightRecorderPath(beat.rank());
    stuck_.Forget(path);
    std::error_code ignored;  // it is only a leftover
    std::filesystem::remove(path, ignored);
  }
  running_.erase(found);
  Publish();
}

// ---- time

void Agent::Tick() {
  const int64_t now_ms = NowMs();
  const bool orphaned = !connected_ && now_ms - disconnected_since_ms_ >= options_.orphan_ms;
  for (auto& [key, running] : running_) {
    if (orphaned && !running.assignment->ended()) {
      LOG(WARNING) << "no coordinator for too long, stops job=" << key.first;
      Carry(key, running.assignment->Stop(/*kill=*/false, now_ms));
    }
    Carry(key, running.assignment->Tick(now_ms));
  }
  if (orphaned) disconnected_since_ms_ = now_ms;
  if (connected_ && now_ms >= next_beat_ms_) {
    next_beat_ms_ = now_ms + beat_interval_ms_;
    SendBeat();
  }
}

void Agent::SendBeat() {
  v1::WorkerUp up;
  up.mutable_beat()->set_incarnation(options_.incarnation);
  for (const auto& [key, running] : running_) {
    for (v1::RankBeat& beat : running.assignment->Beats()) {
      if (beat.state() == v1::RankBeat::READY) {
        const std::string path = running.assignment->FlightRecorderPath(beat.rank());
        const auto recording = ReadFlightRecorder(path);
        if (recording.ok()) stuck_.Look(path, *recording, NowMs(), WallClockNs(), beat);
      }
      *up.mutable_beat()->add_ranks() = std::move(beat);
    }
  }
  connection_->Send(up);
}

// ---- carrying out

void Agent::With(const Key& key, const std::function<AgentActions(Assignment&)>& then) {
  const auto found = running_.find(key);
  if (found != running_.end()) Carry(key, then(*found->second.assignment));
}

void Agent::Carry(const Key& key, AgentActions actions) {
  for (AgentAction& action : actions) {
    std::visit([&](auto& a) { Carry(key, a); }, action);
  }
}

void Agent::Carry(const Key& key, FetchProgram& action) {
  background_->Post([this, key, sha256 = action.sha256] {
    StatusOr<std::string> bytes = cache_.Get(sha256);
    inbox_.Post([this, key, sha256, bytes = std::move(bytes)] {
      With(key, [&](Assignment& assignment) {
        return bytes.ok() ? assignment.ProgramFetched(sha256, *bytes, NowMs())
                          : assignment.ProgramFailed(sha256, bytes.status(), NowMs());
      });
    });
  });
}

void Agent::Carry(const Key& key, StartRankProcess& action) {
  Running& running = running_.at(key);
  const int32_t rank = action.rank;
  const auto fail = [&](const Status& status) {
    Carry(key, running.assignment->RankExited(
                   rank, "could not start: " + std::string(ToStd(status.message())), NowMs()));
  };
  if (running.assignment->num_local() > 1) {
    if (running.segment == nullptr) {
      auto segment = SharedSegment::Create(running.assignment->num_local(), key.second);
      if (!segment.ok()) return fail(segment.status());
      running.segment = *std::move(segment);
    }
    action.start.set_shared_segment("/proc/" + std::to_string(getpid()) + "/fd/" +
                                    std::to_string(running.segment->fd()));
  }
  RankProcess::Callbacks callbacks;
  callbacks.event = [this, key, rank](const v1::RankEvent& event) {
    inbox_.Post([this, key, rank, event] {
      With(key, [&](Assignment& a) { return a.RankSaid(rank, event, NowMs()); });
    });
  };
  callbacks.line = [this, key, rank](const std::string& line) {
    inbox_.Post([this, key, rank, line] {
      With(key, [&](Assignment& a) { return a.RankWrote(rank, line); });
    });
  };
  callbacks.exited = [this, key, rank](int status) {
    inbox_.Post([this, key, rank, status] {
      running_.at(key).processes.erase(rank);
      With(key, [&](Assignment& a) { return a.RankExited(rank, DescribeExit(status), NowMs()); });
    });
  };
  auto process = RankProcess::Start(options_.rank_command, std::move(callbacks));
  if (!process.ok()) return fail(process.status());
  LOG(INFO) << "rank started job=" << key.first << " rank=" << rank << " pid=" << (*process)->pid();
  v1::RankCommand command;
  *command.mutable_start() = std::move(action.start);
  (*process)->Send(command);
  running.processes[rank] = *std::move(process);
}

void Agent::Carry(const Key& key, TellRank& action) {
  auto& processes = running_.at(key).processes;
  if (const auto process = processes.find(action.rank); process != processes.end()) {
    process->second->Send(action.command);
  }
}

void Agent::Carry(const Key& key, SignalRank& action) {
  auto& processes = running_.at(key).processes;
  if (const auto process = processes.find(action.rank); process != processes.end()) {
    process->second->Kill(action.signal);
  }
}

void Agent::Carry(const Key& key, AbortLocalRanks& action) {
  const Running& running = running_.at(key);
  if (running.segment != nullptr) {
    running.segment->Abort(AbortKind::kGone, action.rank, action.reason);
  }
}

void Agent::Carry(const Key& key, TellCoordinator& action) {
  if (connected_) return connection_->Send(action.message);
  if (!IsMeasurement(action.message)) return;  // sticky: repeated when connected
  unsent_.push_back(std::move(action.message));
  if (unsent_.size() > kMaxUnsent) unsent_.erase(unsent_.begin(), unsent_.begin() + kMaxUnsent / 2);
}

}  // namespace trireme
