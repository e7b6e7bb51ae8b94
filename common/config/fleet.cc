// Reads fleet files with the same value readers as job files. Memory of GPUs is what NVIDIA's data
// sheets promise; the driver reports a little more, never less.
#include "common/config/fleet.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "common/config/config_node.h"
#include "common/config/values.h"

namespace trireme {
namespace {

constexpr int64_t kMaxHosts = 1 << 20;
constexpr int64_t kMaxDevicesPerHost = 4096;
constexpr int64_t kMaxSlices = 1 << 20;

// CUDA context (about 0.5 GiB), NCCL buffers and channels (about 1 GiB) and the cuBLASLt workspace,
// rounded up.
constexpr int64_t kGpuReserveBytes = int64_t{2} << 30;

// What of a GPU's published peaks is reached: Calculon's tables (Isaev et al., SC 2023) give large
// products 0.9 and more of the peak, small ones 0.1 to 0.6; memory 0.6 to 0.95; NVLink 0.65;
// InfiniBand 0.9. Whole steps of published runs reach 0.4 to 0.55 in products.
DeviceKind Gpu(const char* name, int64_t memory_bytes, const char* source, double peak_flops,
               double peak_bytes_per_s, double nvlink_bytes_per_s, double nic_bytes_per_s) {
  return {name,
          memory_bytes,
          kGpuReserveBytes,
          source,
          0.55 * peak_flops,
          0.75 * peak_bytes_per_s,
          4e-6,
          {0.65 * nvlink_bytes_per_s, 5e-6},
          {0.8 * nic_bytes_per_s, 2e-5},
          "from published bf16 peaks"};
}

// One thread of a server's CPU (AVX2, 2.5 GHz), as tests/bench measures it: steps of small models
// do 50 to 65 GFLOP a second of processor time; all_reduce of 64 MB between two processes moves 2.9
// GB/s through shared memory and 1.6 GB/s through TCP on loopback. The rest (memory, launch,
// latencies, dcn) are round guesses: a fleet file or the job's `network` says better.
DeviceKind Cpu() {
  return {"cpu",       0,
          0,           "not limited by the plan: ranks share the host's memory",
          6e10,        8e9,
          2e-6,        {3e9, 5e-6},
          {1e9, 3e-5}, "uncalibrated"};
}

// Peaks of products (bf16, dense), memory, NVLink (one direction) and one network adapter a GPU.
const std::vector<DeviceKind>& DeviceKinds() {
  constexpr int64_t kGb = 1000000000;
  static const auto* const kinds = new std::vector<DeviceKind>{
      Cpu(),
      Gpu("a100-80", int64_t{80} << 30,
          "NVIDIA A100 80GB Tensor Core GPU data sheet: 80 GB HBM2e; the driver reports 81920 MiB",
          312e12, 2.039e12, 300e9, 25e9),
      Gpu("h100", 80 * kGb,
          "NVIDIA H100 Tensor Core GPU data sheet (SXM5): 80 GB HBM3, read as 10^9 bytes", 989e12,
          3.35e12, 450e9, 50e9),
      Gpu("h200", 141 * kGb,
          "NVIDIA H200 Tensor Core GPU data sheet (SXM): 141 GB HBM3e, read as 10^9 bytes", 989e12,
          4.8e12, 450e9, 50e9),
      Gpu("b200", 180 * kGb,
          "NVIDIA HGX B200 data sheet: 180 GB HBM3e of 192 GB usable, read as 10^9 bytes", 2250e12,
          7.7e12, 900e9, 50e9),
  };
  return *kinds;
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const DeviceKind& kind : DeviceKinds()) names.push_back(kind.name);
  return names;
}

// "3" as "003" where the largest number has three digits, so that names sort as numbers do.
std::string Padded(int64_t number, int64_t count) {
  std::string text = std::to_string(number);
  const size_t width = std::to_string(count - 1).size();
  return std::string(width - std::min(width, text.size()), '0') + text;
}

// Errors: kInvalidArgument naming the first entry of `map` that is not in `known`.
Status RefuseUnknown(const ConfigNode& map, const std::string& path,
                     const std::vector<std::string>& known) {
  for (const auto& [name, value] : map.entries) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = Nearest(name, known);
    std::string hint = "known here:";
    for (const std::string& one : known) hint += " " + one;
    if (!nearest.empty()) hint = "did you mean " + JoinPath(path, nearest) + "?";
    return ConfigError(value.where, JoinPath(path, name),
                       "unknown key " + ShowText(name) + "; " + hint);
  }
  return absl::OkStatus();
}

Status ReadOptionalInt(const ConfigNode& map, const std::string& path, const std::string& key,
                       const IntRange& range, int64_t* out) {
  const ConfigNode* node = map.Find(key);
  return node == nullptr ? absl::OkStatus() : ReadInt(*node, JoinPath(path, key), range, out);
}

// `unit` turns what the file says into what *out holds.
Status ReadSpeed(const ConfigNode& map, const std::string& path, const std::string& key,
                 double unit, bool may_be_zero, double* out, bool* given) {
  const ConfigNode* node = map.Find(key);
  if (node == nullptr) return absl::OkStatus();
  NumberRange range;
  range.min = 0;
  range.min_open = !may_be_zero;
  RETURN_IF_ERROR(ReadNumber(*node, JoinPath(path, key), range, out));
  *out *= unit;
  *given = true;
  return absl::OkStatus();
}

Status ReadLink(const ConfigNode& root, const std::string& key, LinkSpeed* link, bool* given) {
  const ConfigNode* node = root.Find(key);
  if (node == nullptr) return absl::OkStatus();
  if (!node->is_map())
    return Expected(*node, key, "a map such as {gbyte_per_s: 2.5, latency_us: 6}");
  RETURN_IF_ERROR(RefuseUnknown(*node, key, {"gbyte_per_s", "latency_us"}));
  RETURN_IF_ERROR(ReadSpeed(*node, key, "gbyte_per_s", 1e9, false, &link->bytes_per_s, given));
  return ReadSpeed(*node, key, "latency_us", 1e-6, true, &link->latency_s, given);
}

// Speeds that the file gives take the place of the kind's.
Status ReadSpeeds(const ConfigNode& root, DeviceKind* kind) {
  bool given = false;
  RETURN_IF_ERROR(ReadSpeed(root, "", "flops", 1, false, &kind->flops, &given));
  RETURN_IF_ERROR(ReadSpeed(root, "", "bytes_per_s", 1, false, &kind->bytes_per_s, &given));
  RETURN_IF_ERROR(ReadSpeed(root, "", "launch_us", 1e-6, true, &kind->launch_s, &given));
  RETURN_IF_ERROR(ReadLink(root, "ici", &kind->ici, &given));
  RETURN_IF_ERROR(ReadLink(root, "dcn", &kind->dcn, &given));
  if (given) kind->speed_source = "speeds of the fleet file";
  return absl::OkStatus();
}

StatusOr<std::vector<Host>> ReadHostList(const ConfigNode& list) {
  if (!list.is_list() || list.items.empty()) {
    return Expected(list, "hosts",
                    "a list of hosts, for example [{name: a, slice: 0, devices: 2}]");
  }
  std::vector<Host> hosts;
  for (size_t i = 0; i < list.items.size(); ++i) {
    const ConfigNode& item = list.items[i];
    const std::string path = "hosts." + std::to_string(i);
    if (!item.is_map())
      return Expected(item, path, "a map such as {name: a, slice: 0, devices: 2}");
    RETURN_IF_ERROR(RefuseUnknown(item, path, {"name", "slice", "devices"}));
    Host host;
    const ConfigNode* name = item.Find("name");
    if (name == nullptr) return ConfigError(item.where, path + ".name", "required but missing");
    RETURN_IF_ERROR(ReadText(*name, path + ".name", &host.name));
    if (host.name.empty()) return Expected(*name, path + ".name", "the host's name");
    RETURN_IF_ERROR(ReadOptionalInt(item, path, "slice", {0, kMaxSlices}, &host.slice));
    RETURN_IF_ERROR(ReadOptionalInt(item, path, "devices", {1, kMaxDevicesPerHost}, &host.devices));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

StatusOr<std::vector<Host>> ReadHostGrid(const ConfigNode& root) {
  int64_t slices = 1;
  int64_t hosts_per_slice = 1;
  int64_t devices_per_host = 1;
  RETURN_IF_ERROR(ReadOptionalInt(root, "", "slices", {1, kMaxSlices}, &slices));
  RETURN_IF_ERROR(ReadOptionalInt(root, "", "hosts_per_slice", {1, kMaxHosts}, &hosts_per_slice));
  RETURN_IF_ERROR(
      ReadOptionalInt(root, "", "devices_per_host", {1, kMaxDevicesPerHost}, &devices_per_host));
  if (slices * hosts_per_slice > kMaxHosts) {
    return ConfigError(root.where, "",
                       std::to_string(slices) + " slices of " + std::to_string(hosts_per_slice) +
                           " hosts are more than " + std::to_string(kMaxHosts) + " hosts");
  }
  std::vector<Host> hosts;
  for (int64_t slice = 0; slice < slices; ++slice) {
    for (int64_t host = 0; host < hosts_per_slice; ++host) {
      hosts.push_back({"slice" + Padded(slice, slices) + "-host" + Padded(host, hosts_per_slice),
                       slice, devices_per_host});
    }
  }
  return hosts;
}

// Errors: kInvalidArgument naming two slices of different size.
Status CheckEqualSlices(const std::vector<Host>& hosts) {
  std::map<int64_t, int64_t> devices;
  for (const Host& host : hosts) devices[host.slice] += host.devices;
  const auto& [first, first_devices] = *devices.begin();
  for (const auto& [slice, count] : devices) {
    if (count == first_devices) continue;
    return InvalidArgument("slice " + std::to_string(first) + " has " +
                           std::to_string(first_devices) + " devices but slice " +
                           std::to_string(slice) + " has " + std::to_string(count) +
                           "; slices must hold equally many: leave hosts out, or relabel them");
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<DeviceKind> FindDeviceKind(std::string_view name) {
  for (const DeviceKind& kind : DeviceKinds()) {
    if (kind.name == name) return kind;
  }
  const std::vector<std::string> names = KindNames();
  const std::string nearest = Nearest(name, names);
  return InvalidArgument("device " + ShowText(name) + " is not known; expected " + Describe(names) +
                         (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

int64_t Topology::num_devices() const {
  int64_t count = 0;
  for (const Host& host : hosts) count += host.devices;
  return count;
}

int64_t Topology::num_slices() const { return hosts.empty() ? 0 : hosts.back().slice + 1; }

StatusOr<Topology> MakeTopology(DeviceKind device, std::vector<Host> hosts) {
  if (hosts.empty()) return InvalidArgument("a fleet without hosts; give at least one");
  std::map<std::string, int64_t> seen;
  for (const Host& host : hosts) {
    if (host.devices < 1) {
      return InvalidArgument("host " + host.name + " has " + std::to_string(host.devices) +
                             " devices; expected at least 1");
    }
    if (!seen.emplace(host.name, host.slice).second) {
      return InvalidArgument("host " + host.name + " is there twice; names must differ");
    }
  }
  std::sort(hosts.begin(), hosts.end(), [](const Host& a, const Host& b) {
    return std::tie(a.slice, a.name) < std::tie(b.slice, b.name);
  });
  RETURN_IF_ERROR(CheckEqualSlices(hosts));
  int64_t next = -1;
  int64_t label = 0;
  for (Host& host : hosts) {
    if (next < 0 || host.slice != label) ++next;
    label = host.slice;
    host.slice = next;
  }
  return Topology{std::move(device), std::move(hosts)};
}

StatusOr<Topology> ParseFleet(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const ConfigNode root, ReadConfig(text, file));
  if (!root.is_map()) {
    return Expected(root, "",
                    "a map such as {device: h100, slices: 2, hosts_per_slice: 4, "
                    "devices_per_host: 8}");
  }
  RETURN_IF_ERROR(RefuseUnknown(root, "",
                                {"device", "slices", "hosts_per_slice", "devices_per_host", "hosts",
                                 "flops", "bytes_per_s", "launch_us", "ici", "dcn"}));
  const ConfigNode* device = root.Find("device");
  if (device == nullptr) {
    return ConfigError(root.where, "device",
                       "required but missing; expected " + Describe(KindNames()));
  }
  std::string kind_name;
  RETURN_IF_ERROR(ReadChoice(*device, "device", KindNames(), &kind_name));
  ASSIGN_OR_RETURN(DeviceKind kind, FindDeviceKind(kind_name));
  RETURN_IF_ERROR(ReadSpeeds(root, &kind));
  const ConfigNode* list = root.Find("hosts");
  if (list == nullptr) {
    ASSIGN_OR_RETURN(std::vector<Host> hosts, ReadHostGrid(root));
    return MakeTopology(std::move(kind), std::move(hosts));
  }
  for (const char* key : {"slices", "hosts_per_slice", "devices_per_host"}) {
    const ConfigNode* node = root.Find(key);
    if (node == nullptr) continue;
    return ConfigError(node->where, key, "given beside a list of hosts; keep one of the two");
  }
  ASSIGN_OR_RETURN(std::vector<Host> hosts, ReadHostList(*list));
  StatusOr<Topology> topology = MakeTopology(std::move(kind), std::move(hosts));
  if (!topology.ok()) return Annotate(topology.status(), list->where + ": hosts");
  return topology;
}

}  // namespace trireme
