// The workers of the cluster: who is there, under which incarnation, until when its lease runs, and
// which devices are taken by which assignment. Pure: events and the time go in, actions come out.
#ifndef TRIREME_COORDINATOR_CLUSTER_CLUSTER_H_
#define TRIREME_COORDINATOR_CLUSTER_CLUSTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cluster/now.h"

namespace trireme {

// One attempt of one job.
struct AttemptId {
  std::string job;
  int64_t attempt = 0;
  auto operator<=>(const AttemptId&) const = default;
};
std::string ToText(const AttemptId& id);  // "jobs/tiny-1 attempt 2"

struct WorkerInfo {
  std::string name;
  std::string host;
  std::string slice;
  std::string device_kind;
  int32_t num_devices = 0;
  int64_t incarnation = 0;  // grows with each start of the daemon
  std::string version;
  uint64_t op_table_hash = 0;
};

enum class WorkerState { kReady, kDisconnected, kLost };

struct WorkerRecord {
  WorkerInfo info;
  WorkerState state = WorkerState::kReady;
  std::string reason;  // why it is not kReady
  int64_t last_beat_mono_ms = 0;
  int64_t last_beat_wall_ms = 0;
  std::map<AttemptId, std::vector<int32_t>> held;  // devices by the assignment that has them

  std::vector<int32_t> FreeDevices() const;  // whatever the state
};

// ---- events

// A stream opened and introduced itself. `running`: what the worker says it still has.
struct WorkerRegistered {
  WorkerInfo info;
  std::vector<AttemptId> running;
};
struct WorkerBeat {
  std::string worker;
  int64_t incarnation = 0;
};
struct WorkerStreamClosed {
  std::string worker;
  int64_t incarnation = 0;
};
// Devices are taken before the worker is told, and free again when it says that the assignment has
// ended.
struct DevicesTaken {
  std::string worker;
  AttemptId id;
  std::vector<int32_t> devices;
};
struct DevicesFreed {
  std::string worker;
  AttemptId id;
};
struct ClusterTick {};
using ClusterEvent = std::variant<WorkerRegistered, WorkerBeat, WorkerStreamClosed, DevicesTaken,
                                  DevicesFreed, ClusterTick>;

// ---- actions

// Refuse the stream. The text is for the worker's log.
struct RefuseWorker {
  std::string reason;
};
// The worker is in. `running` is repeated from the event, for the jobs to judge.
struct AdmitWorker {
  std::string worker;
  std::vector<AttemptId> running;
};
// All ranks of these assignments must be taken for dead: the lease expired, or the daemon was
// started anew.
struct AssignmentsLost {
  std::string worker;
  std::vector<AttemptId> ids;
  std::string code;    // "WORKER_LOST", "WORKER_RESTARTED"
  std::string reason;  // "worker b: no sign of life for 45 s"
};
// Free devices may have grown.
struct CapacityChanged {};
using ClusterAction = std::variant<RefuseWorker, AdmitWorker, AssignmentsLost, CapacityChanged>;

struct ClusterOptions {
  int64_t lease_ms = 45000;
  // A tick that comes later than this means that the coordinator itself stood still; that time does
  // not count.
  int64_t longest_tick_gap_ms = 3000;
  uint64_t op_table_hash = 0;  // workers must have the same
};

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options) : options_(options) {}

  std::vector<ClusterAction> Apply(const ClusterEvent& event, Now now);

  // By name.
  const std::map<std::string, WorkerRecord>& workers() const { return workers_; }
  const WorkerRecord* Find(const std::string& worker) const;

 private:
  std::vector<ClusterAction> On(const WorkerRegistered& event, Now now);
  std::vector<ClusterAction> On(const WorkerBeat& event, Now now);
  std::vector<ClusterAction> On(const WorkerStreamClosed& event, Now now);
  std::vector<ClusterAction> On(const DevicesTaken& event, Now now);
  std::vector<ClusterAction> On(const DevicesFreed& event, Now now);
  std::vector<ClusterAction> On(const ClusterTick& event, Now now);
  std::string Refusal(const WorkerInfo& info) const;

  ClusterOptions options_;
  std::map<std::string, WorkerRecord> workers_;
  int64_t last_tick_mono_ms_ = -1;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_CLUSTER_CLUSTER_H_
