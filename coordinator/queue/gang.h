// Finds devices for a job as a whole: all its ranks or none. One gang lies on devices of one kind,
// with equally many in each slice it uses. Pure.
#ifndef TRIREME_COORDINATOR_QUEUE_GANG_H_
#define TRIREME_COORDINATOR_QUEUE_GANG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/job_spec.h"
#include "coordinator/cluster/cluster.h"

namespace trireme {

// Devices of a mesh section: `ici` in each of `dcn` slices. What absorbs takes the largest multiple
// that the cluster has, as ResolveAxisShapes does: an axis of -1, and `data` and `replica_dcn`
// where the job does not name them.
struct GangDemand {
  int64_t ici = 1;
  bool ici_absorbs = false;
  int64_t dcn = 1;
  bool dcn_absorbs = false;
};
GangDemand DemandOf(const MeshSpec& mesh);
std::string ToText(
    const GangDemand& demand);  // "4 devices in each of 2 slices", "4 (or a multiple) devices ..."

struct GangWorker {
  std::string worker;
  int64_t slice = 0;             // slices of the gang count from 0
  std::vector<int32_t> devices;  // device ids of the worker
};

// Workers sorted by slice, then name.
struct Gang {
  std::string device_kind;
  std::vector<GangWorker> workers;

  int64_t num_devices() const;
};

struct GangDecision {
  std::optional<Gang> gang;
  bool possible_later =
      false;           // without a gang: the connected workers could hold it if nothing else ran
  std::string reason;  // without a gang: everything that stands in the way, with counts
};

using WorkerMap = std::map<std::string, WorkerRecord>;

// Places `demand` on free devices of connected workers. Fewest workers first; ties by name.
GangDecision PlaceGang(const GangDemand& demand, const WorkerMap& workers);

// The same as if nothing ran: for plans of the live cluster.
GangDecision PlaceGangOnIdle(const GangDemand& demand, const WorkerMap& workers);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_QUEUE_GANG_H_
