// Workers: registration, beats, what ranks report, and devices coming free. The cluster's actions
// become inputs of the jobs here.
#include <utility>

#include "common/base/log.h"
#include "coordinator/jobs/timestamp.h"
#include "coordinator/service/core.h"

namespace trireme {
namespace {

v1::Node::State ToProto(WorkerState state) {
  switch (state) {
    case WorkerState::kReady:
      return v1::Node::READY;
    case WorkerState::kDisconnected:
      return v1::Node::DISCONNECTED;
    case WorkerState::kLost:
      return v1::Node::LOST;
  }
  return v1::Node::STATE_UNSPECIFIED;
}

WorkerInfo ToInfo(const v1::Register& request) {
  return {request.worker(),
          request.host(),
          request.slice().empty() ? "0" : request.slice(),
          request.device_kind(),
          request.num_devices(),
          request.incarnation(),
          request.version(),
          request.op_table_hash()};
}

v1::LogLine Line(const std::string& worker, int32_t rank, int64_t attempt, const std::string& text,
                 Now now) {
  v1::LogLine line;
  *line.mutable_time() = ToTimestamp(now.wall_ms);
  line.set_worker(worker);
  line.set_rank(rank);
  line.set_attempt(attempt);
  line.set_text(text);
  return line;
}

}  // namespace

std::vector<ClusterAction> Core::ApplyCluster(const ClusterEvent& event, Now now) {
  std::vector<ClusterAction> actions = cluster_.Apply(event, now);
  for (const ClusterAction& action : actions) {
    plan_wanted_ = plan_wanted_ || std::holds_alternative<CapacityChanged>(action);
    const auto* lost = std::get_if<AssignmentsLost>(&action);
    if (lost == nullptr) continue;
    LOG(WARNING) << "worker lost worker=" << lost->worker << " reason=\"" << lost->reason << "\"";
    for (const AttemptId& id : lost->ids) {
      if (JobEntry* entry = FindEntry(id.job)) {
        ApplyJob(*entry, WorkerGone{lost->worker, id.attempt, lost->code, lost->reason}, now);
      }
    }
  }
  return actions;
}

void Core::Free(const std::string& worker, const AttemptId& id, Now now) {
  ApplyCluster(DevicesFreed{worker, id}, now);
}

StatusOr<v1::Registered> Core::Register(const v1::Register& request, Now now) {
  WorkerRegistered event{ToInfo(request), {}};
  for (const v1::AssignmentId& id : request.running()) {
    event.running.push_back({id.job(), id.attempt()});
  }
  for (const ClusterAction& action : ApplyCluster(event, now)) {
    const auto* refused = std::get_if<RefuseWorker>(&action);
    if (refused != nullptr) return FailedPrecondition(refused->reason);
  }
  LOG(INFO) << "worker registered worker=" << request.worker() << " slice=" << request.slice()
            << " devices=" << request.num_devices() << " kind=" << request.device_kind()
            << " incarnation=" << request.incarnation();
  v1::Registered registered;
  registered.set_lease_ms(options_.cluster.lease_ms);
  registered.set_beat_interval_ms(options_.beat_ms);
  return registered;
}

void Core::Resume(const v1::Register& request, Now now) {
  std::set<AttemptId> running;
  for (const v1::AssignmentId& id : request.running()) running.insert({id.job(), id.attempt()});
  const WorkerRecord* worker = cluster_.Find(request.worker());
  if (worker == nullptr) return;
  const auto held = worker->held;  // a copy: freeing changes it
  for (const auto& [id, devices] : held) {
    JobEntry* entry = FindEntry(id.job);
    if (entry != nullptr && entry->machine.Wants(request.worker(), id.attempt)) {
      ApplyJob(*entry, WorkerBack{request.worker(), id.attempt}, now);
    } else if (running.contains(id)) {
      SendStop(request.worker(), id, "the coordinator does not want this assignment (any more)");
    } else {
      Free(request.worker(), id, now);
    }
  }
}

void Core::SendStop(const std::string& worker, const AttemptId& id, const std::string& reason) {
  v1::WorkerDown message;
  message.mutable_stop()->set_job(id.job);
  message.mutable_stop()->set_attempt(id.attempt);
  message.mutable_stop()->set_kill(true);
  message.mutable_stop()->set_reason(reason);
  send_(worker, message);
}

void Core::StreamClosed(const std::string& worker, int64_t incarnation, Now now) {
  ApplyCluster(WorkerStreamClosed{worker, incarnation}, now);
  plan_wanted_ = true;  // the reasons of waiting jobs have changed
  const WorkerRecord* record = cluster_.Find(worker);
  if (record == nullptr || record->state != WorkerState::kDisconnected) return;
  for (const auto& [id, devices] : record->held) {
    if (JobEntry* entry = FindEntry(id.job)) ApplyJob(*entry, WorkerAway{worker, id.attempt}, now);
  }
}

void Core::WorkerSays(const std::string& worker, const v1::WorkerUp& message, Now now) {
  switch (message.message_case()) {
    case v1::WorkerUp::kBeat:
      return BeatSays(worker, message.beat(), now);
    case v1::WorkerUp::kRank:
      return RankSays(worker, message.rank(), now);
    case v1::WorkerUp::kCommit:
      if (JobEntry* entry = FindEntry(message.commit().job())) {
        ApplyJob(*entry, CommitSaid{message.commit()}, now);
      }
      return;
    case v1::WorkerUp::kEnded:
      return Ended(worker, message.ended(), now);
    case v1::WorkerUp::kRegistration:
    case v1::WorkerUp::MESSAGE_NOT_SET:
      return;
  }
}

void Core::RankSays(const std::string& worker, const v1::RankUpdate& update, Now now) {
  JobEntry* entry = FindEntry(update.job());
  if (entry == nullptr) return;
  changed_.insert(update.job());
  const bool current = update.attempt() == entry->machine.job().attempt();
  if (update.has_log()) {
    entry->journal.AddLine(Line(worker, update.rank(), update.attempt(), update.log().line(), now));
    return;
  }
  if (update.has_step() && current) entry->journal.AddStep(update.attempt(), update.step());
  if (update.has_failed()) {
    entry->journal.AddLine(
        Line(worker, update.rank(), update.attempt(), "failed: " + update.failed().message(), now));
  }
  ApplyJob(*entry, RankSaid{worker, update}, now);
}

void Core::BeatSays(const std::string& worker, const v1::Beat& beat, Now now) {
  ApplyCluster(WorkerBeat{worker, beat.incarnation()}, now);
  beats_[worker].assign(beat.ranks().begin(), beat.ranks().end());
  for (const v1::RankBeat& rank : beat.ranks()) {
    if (rank.stuck_in().empty()) continue;
    JobEntry* entry = FindEntry(rank.job());
    std::string& known = stuck_[rank.job() + " " + std::to_string(rank.rank())];
    if (entry == nullptr || known == rank.stuck_in()) continue;
    known = rank.stuck_in();
    changed_.insert(rank.job());
    entry->journal.AddLine(Line(worker, rank.rank(), rank.attempt(),
                                "no progress for " +
                                    std::to_string(static_cast<int64_t>(rank.no_progress_s())) +
                                    " s in " + rank.stuck_in(),
                                now));
  }
}

void Core::Ended(const std::string& worker, const v1::AssignmentEnded& ended, Now now) {
  const AttemptId id{ended.job(), ended.attempt()};
  if (JobEntry* entry = FindEntry(id.job)) {
    ApplyJob(*entry, AssignmentLeft{worker, id.attempt}, now);
  }
  Free(worker, id, now);
  v1::WorkerDown release;
  release.mutable_release()->set_job(id.job);
  release.mutable_release()->set_attempt(id.attempt);
  send_(worker, release);
}

v1::ListNodesResponse Core::ListNodes(Now now) const {
  v1::ListNodesResponse response;
  std::map<std::pair<std::string, std::string>, const WorkerRecord*> sorted;
  for (const auto& [name, worker] : cluster_.workers()) sorted[{worker.info.slice, name}] = &worker;
  for (const auto& [key, worker] : sorted) {
    v1::Node& node = *response.add_nodes();
    node.set_name(worker->info.name);
    node.set_host(worker->info.host);
    node.set_slice(worker->info.slice);
    node.set_device_kind(worker->info.device_kind);
    node.set_num_devices(worker->info.num_devices);
    node.set_busy_devices(worker->info.num_devices -
                          static_cast<int32_t>(worker->FreeDevices().size()));
    node.set_state(ToProto(worker->state));
    node.set_reason(worker->reason);
    node.set_incarnation(worker->info.incarnation);
    node.set_version(worker->info.version);
    *node.mutable_last_beat_time() = ToTimestamp(worker->last_beat_wall_ms);
    node.set_last_beat_age_s(static_cast<double>(now.mono_ms - worker->last_beat_mono_ms) / 1000.0);
    for (const auto& [id, devices] : worker->held) node.add_jobs(id.job);
    const auto beat = beats_.find(worker->info.name);
    if (beat == beats_.end()) continue;
    for (const v1::RankBeat& rank : beat->second) *node.add_ranks() = rank;
  }
  return response;
}

}  // namespace trireme
