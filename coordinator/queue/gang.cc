// For each kind of device: count slices, decide how many slices and devices a slice the demand
// means there, then take the slices with the least room that suffices and in them the workers with
// the most.
#include "coordinator/queue/gang.h"

#include <algorithm>
#include <set>

namespace trireme {
namespace {

struct WorkerRoom {
  std::string name;
  std::vector<int32_t> free;
};

struct Slice {
  std::string label;
  int64_t total = 0;
  int64_t free = 0;
  std::vector<WorkerRoom> workers;
};

// What one kind of device offers.
struct KindRoom {
  std::vector<Slice> slices;  // by label
  int64_t total = 0;
  int64_t free = 0;
  std::map<std::string, int64_t> busy;  // devices by job
  std::vector<std::string> absent;      // workers that are not connected, as text
};

int64_t KnownProduct(const AxisSizes& axes) {
  int64_t product = 1;
  for (const auto& [name, size] : axes) {
    if (size > 0) product = size > (int64_t{1} << 40) / product ? int64_t{1} << 40 : product * size;
  }
  return product;
}

bool Absorbs(const AxisSizes& axes, const std::string& default_axis) {
  bool named = false;
  for (const auto& [name, size] : axes) {
    if (size == -1) return true;
    named = named || name == default_axis;
  }
  return !named;
}

std::vector<int32_t> AllDevices(int32_t count) {
  std::vector<int32_t> devices(count);
  for (int32_t i = 0; i < count; ++i) devices[i] = i;
  return devices;
}

void AddWorker(const WorkerRecord& worker, bool idle, KindRoom& room) {
  const WorkerInfo& info = worker.info;
  if (worker.state != WorkerState::kReady) {
    room.absent.push_back(std::to_string(info.num_devices) + " on worker " + info.name +
                          ", which is not connected: " + worker.reason);
    return;
  }
  auto slice = std::find_if(room.slices.begin(), room.slices.end(),
                            [&](const Slice& s) { return s.label == info.slice; });
  if (slice == room.slices.end()) {
    room.slices.push_back({info.slice});
    slice = room.slices.end() - 1;
  }
  const std::vector<int32_t> free = idle ? AllDevices(info.num_devices) : worker.FreeDevices();
  const auto num_free = static_cast<int64_t>(free.size());
  slice->total += info.num_devices;
  slice->free += num_free;
  slice->workers.push_back({info.name, free});
  room.total += info.num_devices;
  room.free += num_free;
  if (idle) return;
  for (const auto& [id, devices] : worker.held) {
    room.busy[id.job] += static_cast<int64_t>(devices.size());
  }
}

std::map<std::string, KindRoom> RoomByKind(const WorkerMap& workers, bool idle) {
  std::map<std::string, KindRoom> rooms;
  for (const auto& [name, worker] : workers)
    AddWorker(worker, idle, rooms[worker.info.device_kind]);
  for (auto& [kind, room] : rooms) {
    std::sort(room.slices.begin(), room.slices.end(),
              [](const Slice& a, const Slice& b) { return a.label < b.label; });
  }
  return rooms;
}

// Slices and devices in each that the demand means on this cluster when it is idle; num_slices 0 =
// it cannot hold it.
struct Shape {
  int64_t num_slices = 0;
  int64_t per_slice = 0;
};

Shape ShapeOn(const GangDemand& demand, const KindRoom& room) {
  std::vector<int64_t> totals;
  for (const Slice& slice : room.slices) {
    if (slice.total >= demand.ici) totals.push_back(slice.total);
  }
  std::sort(totals.rbegin(), totals.rend());
  const auto fitting = static_cast<int64_t>(totals.size());
  if (fitting < demand.dcn) return {};
  Shape shape;
  shape.num_slices = demand.dcn_absorbs ? fitting / demand.dcn * demand.dcn : demand.dcn;
  const int64_t smallest = totals[shape.num_slices - 1];
  shape.per_slice = demand.ici_absorbs ? smallest / demand.ici * demand.ici : demand.ici;
  return shape;
}

void TakeFromSlice(const Slice& slice, int64_t slice_index, int64_t wanted, Gang& gang) {
  std::vector<WorkerRoom> workers = slice.workers;
  std::sort(workers.begin(), workers.end(), [](const WorkerRoom& a, const WorkerRoom& b) {
    if (a.free.size() != b.free.size()) return a.free.size() > b.free.size();
    return a.name < b.name;
  });
  std::vector<GangWorker> taken;
  for (const WorkerRoom& worker : workers) {
    const int64_t count = std::min<int64_t>(wanted, static_cast<int64_t>(worker.free.size()));
    if (count == 0) break;
    taken.push_back({worker.name, slice_index, {worker.free.begin(), worker.free.begin() + count}});
    wanted -= count;
  }
  std::sort(taken.begin(), taken.end(),
            [](const GangWorker& a, const GangWorker& b) { return a.worker < b.worker; });
  gang.workers.insert(gang.workers.end(), taken.begin(), taken.end());
}

std::optional<Gang> Take(const Shape& shape, const std::string& kind, const KindRoom& room) {
  std::vector<const Slice*> usable;
  for (const Slice& slice : room.slices) {
    if (slice.free >= shape.per_slice) usable.push_back(&slice);
  }
  if (static_cast<int64_t>(usable.size()) < shape.num_slices) return std::nullopt;
  std::sort(usable.begin(), usable.end(), [](const Slice* a, const Slice* b) {
    return a->free != b->free ? a->free < b->free : a->label < b->label;
  });
  usable.resize(shape.num_slices);
  std::sort(usable.begin(), usable.end(),
            [](const Slice* a, const Slice* b) { return a->label < b->label; });
  Gang gang{kind, {}};
  for (size_t i = 0; i < usable.size(); ++i) {
    TakeFromSlice(*usable[i], static_cast<int64_t>(i), shape.per_slice, gang);
  }
  return gang;
}

std::string Counts(const std::string& kind, const KindRoom& room) {
  std::string text = std::to_string(room.free) + " free of " + std::to_string(room.total) + " " +
                     kind + " in " + std::to_string(room.slices.size()) +
                     (room.slices.size() == 1 ? " slice" : " slices");
  std::string busy;
  for (const auto& [job, count] : room.busy) {
    busy += (busy.empty() ? "" : ", ") + std::to_string(count) + " busy: " + job;
  }
  if (!busy.empty()) text += " (" + busy + ")";
  for (const std::string& absent : room.absent) text += "; " + absent;
  return text;
}

// Why an idle cluster could not hold it either.
std::string Impossible(const GangDemand& demand, const KindRoom& room) {
  int64_t largest = 0;
  for (const Slice& slice : room.slices) largest = std::max(largest, slice.total);
  if (largest < demand.ici) {
    return "; too few even when idle: the largest slice has " + std::to_string(largest) +
           ", add workers or make the mesh smaller";
  }
  return "; too few slices even when idle: add workers with another --slice or make dcn_axes "
         "smaller";
}

GangDecision Place(const GangDemand& demand, const WorkerMap& workers, bool idle) {
  const std::map<std::string, KindRoom> rooms = RoomByKind(workers, idle);
  GangDecision decision;
  decision.reason = "needs " + ToText(demand);
  for (const auto& [kind, room] : rooms) {
    const Shape shape = ShapeOn(demand, room);
    if (shape.num_slices > 0) {
      decision.gang = Take(shape, kind, room);
      if (decision.gang.has_value()) return decision;
      decision.possible_later = true;
    }
    decision.reason += "; " + Counts(kind, room);
    if (shape.num_slices == 0) decision.reason += Impossible(demand, room);
  }
  if (rooms.empty()) {
    decision.reason += "; no worker is connected: start trireme-worker with --coordinator";
  }
  return decision;
}

}  // namespace

GangDemand DemandOf(const MeshSpec& mesh) {
  return {KnownProduct(mesh.axes), Absorbs(mesh.axes, "data"), KnownProduct(mesh.dcn_axes),
          Absorbs(mesh.dcn_axes, "replica_dcn")};
}

std::string ToText(const GangDemand& demand) {
  const std::string devices = demand.ici_absorbs
                                  ? "a multiple of " + std::to_string(demand.ici) + " devices"
                              : demand.ici == 1 ? "1 device"
                                                : std::to_string(demand.ici) + " devices";
  if (demand.dcn_absorbs && demand.dcn == 1) return devices + " in every slice";
  if (demand.dcn_absorbs) {
    return devices + " in each of a multiple of " + std::to_string(demand.dcn) + " slices";
  }
  if (demand.dcn == 1) return devices + " in one slice";
  return devices + " in each of " + std::to_string(demand.dcn) + " slices";
}

int64_t Gang::num_devices() const {
  int64_t count = 0;
  for (const GangWorker& worker : workers) count += static_cast<int64_t>(worker.devices.size());
  return count;
}

GangDecision PlaceGang(const GangDemand& demand, const WorkerMap& workers) {
  return Place(demand, workers, false);
}

GangDecision PlaceGangOnIdle(const GangDemand& demand, const WorkerMap& workers) {
  return Place(demand, workers, true);
}

}  // namespace trireme
