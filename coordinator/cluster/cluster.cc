// A worker is kReady while its stream is open, kDisconnected while only its lease runs, kLost after
// that. What it holds is forgotten when its daemon was started anew (its rank processes die with
// it) or says that the assignment has ended.
#include "coordinator/cluster/cluster.h"

#include <algorithm>
#include <set>

#include "common/base/check.h"

namespace trireme {
namespace {

std::vector<AttemptId> Keys(const std::map<AttemptId, std::vector<int32_t>>& held) {
  std::vector<AttemptId> ids;
  for (const auto& [id, devices] : held) ids.push_back(id);
  return ids;
}

std::string Seconds(int64_t ms) { return std::to_string((ms + 500) / 1000) + " s"; }

bool IsWorkerName(const std::string& name) {
  if (name.empty() || name.size() > 63) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

}  // namespace

std::string ToText(const AttemptId& id) {
  return id.job + " attempt " + std::to_string(id.attempt);
}

std::vector<int32_t> WorkerRecord::FreeDevices() const {
  std::set<int32_t> taken;
  for (const auto& [id, devices] : held) taken.insert(devices.begin(), devices.end());
  std::vector<int32_t> free;
  for (int32_t device = 0; device < info.num_devices; ++device) {
    if (!taken.contains(device)) free.push_back(device);
  }
  return free;
}

const WorkerRecord* Cluster::Find(const std::string& worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? nullptr : &found->second;
}

std::vector<ClusterAction> Cluster::Apply(const ClusterEvent& event, Now now) {
  return std::visit([&](const auto& e) { return On(e, now); }, event);
}

// Empty if the worker may come in.
std::string Cluster::Refusal(const WorkerInfo& info) const {
  if (!IsWorkerName(info.name)) {
    return "worker name '" + info.name + "' is not 1 to 63 of a-z 0-9 . -; choose another --name";
  }
  if (info.num_devices < 1 || info.num_devices > 1024) {
    return "worker " + info.name + " has " + std::to_string(info.num_devices) +
           " devices; between 1 and 1024 can be served";
  }
  if (info.op_table_hash != options_.op_table_hash) {
    return "worker " + info.name + " (version " + info.version + ") has op table " +
           std::to_string(info.op_table_hash) + " but the coordinator has " +
           std::to_string(options_.op_table_hash) + "; run the same build on both";
  }
  const WorkerRecord* known = Find(info.name);
  if (known != nullptr && info.incarnation < known->info.incarnation) {
    return "worker " + info.name + " is known with a newer start (" +
           std::to_string(known->info.incarnation) + " > " + std::to_string(info.incarnation) +
           "); two daemons share the name, or the clock went back: choose another --name";
  }
  return "";
}

std::vector<ClusterAction> Cluster::On(const WorkerRegistered& event, Now now) {
  const std::string refusal = Refusal(event.info);
  if (!refusal.empty()) return {RefuseWorker{refusal}};
  std::vector<ClusterAction> actions;
  WorkerRecord& worker = workers_[event.info.name];
  if (worker.info.incarnation != event.info.incarnation && !worker.held.empty()) {
    actions.push_back(AssignmentsLost{event.info.name, Keys(worker.held), "WORKER_RESTARTED",
                                      "worker " + event.info.name + " was started anew"});
    worker.held.clear();
  }
  // Something we do not remember (this coordinator was restarted): all its devices stay taken until
  // it has ended.
  for (const AttemptId& id : event.running) {
    if (worker.held.contains(id)) continue;
    std::vector<int32_t> all(event.info.num_devices);
    for (int32_t device = 0; device < event.info.num_devices; ++device) all[device] = device;
    worker.held[id] = all;
  }
  worker.info = event.info;
  worker.state = WorkerState::kReady;
  worker.reason.clear();
  worker.last_beat_mono_ms = now.mono_ms;
  worker.last_beat_wall_ms = now.wall_ms;
  actions.push_back(AdmitWorker{event.info.name, event.running});
  actions.push_back(CapacityChanged{});
  return actions;
}

std::vector<ClusterAction> Cluster::On(const WorkerBeat& event, Now now) {
  const auto found = workers_.find(event.worker);
  if (found == workers_.end() || found->second.info.incarnation != event.incarnation) return {};
  found->second.last_beat_mono_ms = now.mono_ms;
  found->second.last_beat_wall_ms = now.wall_ms;
  return {};
}

std::vector<ClusterAction> Cluster::On(const WorkerStreamClosed& event, Now now) {
  const auto found = workers_.find(event.worker);
  if (found == workers_.end()) return {};
  WorkerRecord& worker = found->second;
  if (worker.info.incarnation != event.incarnation || worker.state != WorkerState::kReady) {
    return {};
  }
  worker.state = WorkerState::kDisconnected;
  worker.reason = "its stream closed; its lease runs " + Seconds(options_.lease_ms);
  return {};
}

std::vector<ClusterAction> Cluster::On(const DevicesTaken& event, Now now) {
  const auto found = workers_.find(event.worker);
  CHECK(found != workers_.end()) << "devices of unknown worker " << event.worker;
  const std::vector<int32_t> free = found->second.FreeDevices();
  for (const int32_t device : event.devices) {
    CHECK(std::find(free.begin(), free.end(), device) != free.end())
        << "device " << device << " of " << event.worker << " is taken twice, by "
        << ToText(event.id);
  }
  found->second.held[event.id] = event.devices;
  return {};
}

std::vector<ClusterAction> Cluster::On(const DevicesFreed& event, Now now) {
  const auto found = workers_.find(event.worker);
  if (found == workers_.end() || found->second.held.erase(event.id) == 0) return {};
  return {CapacityChanged{}};
}

std::vector<ClusterAction> Cluster::On(const ClusterTick& event, Now now) {
  const int64_t gap = last_tick_mono_ms_ < 0 ? 0 : now.mono_ms - last_tick_mono_ms_;
  last_tick_mono_ms_ = now.mono_ms;
  std::vector<ClusterAction> actions;
  for (auto& [name, worker] : workers_) {
    if (gap > options_.longest_tick_gap_ms) {
      worker.last_beat_mono_ms = std::min(now.mono_ms, worker.last_beat_mono_ms + gap);
    }
    const int64_t silent_ms = now.mono_ms - worker.last_beat_mono_ms;
    if (worker.state == WorkerState::kLost || silent_ms <= options_.lease_ms) continue;
    worker.state = WorkerState::kLost;
    worker.reason = "no sign of life for " + Seconds(silent_ms);
    if (worker.held.empty()) continue;
    actions.push_back(AssignmentsLost{name, Keys(worker.held), "WORKER_LOST",
                                      "worker " + name + ": " + worker.reason});
  }
  return actions;
}

}  // namespace trireme
