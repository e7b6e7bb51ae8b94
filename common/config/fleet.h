// A fleet file: the hosts and devices to plan for without asking a coordinator, and, where they are
// known better than from data sheets, the speeds that predictions use.
//   {device: h100, slices: 2, hosts_per_slice: 4, devices_per_host: 8}
//   {device: cpu, hosts: [{name: a, slice: 0, devices: 2}, {name: b, slice: 0, devices: 2}]}
//   {device: cpu, devices_per_host: 2, flops: 5.5e10, bytes_per_s: 9e9, launch_us: 1.5,
//    ici: {gbyte_per_s: 2.5, latency_us: 6}, dcn: {gbyte_per_s: 1, latency_us: 40}}
#ifndef TRIREME_COMMON_CONFIG_FLEET_H_
#define TRIREME_COMMON_CONFIG_FLEET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace trireme {

// What one rank can send in one direction. 0 = takes no time.
struct LinkSpeed {
  double bytes_per_s = 0;
  double latency_s = 0;  // of a message
  bool operator==(const LinkSpeed&) const = default;
};

// A kind of device and what the planner knows of it.
struct DeviceKind {
  std::string name;          // "cpu", "a100-80", "h100", "h200", "b200"
  int64_t memory_bytes = 0;  // 0 = not limited by the plan (cpu: the host's memory)
  int64_t reserve_bytes =
      0;  // device context, communicator buffers, library workspace: not ours to plan with
  std::string source;  // where memory_bytes comes from
  // What predictions use: attainable by one rank, not peaks. 0 = takes no time.
  double flops = 0;                           // a second, in products
  double bytes_per_s = 0;                     // of memory
  double launch_s = 0;                        // what an instruction costs at least
  LinkSpeed ici;                              // between ranks of a slice
  LinkSpeed dcn;                              // between slices
  std::string speed_source = "uncalibrated";  // where they come from, in a few words
};

// Errors: kInvalidArgument listing the known kinds.
StatusOr<DeviceKind> FindDeviceKind(std::string_view name);

struct Host {
  std::string name;
  int64_t slice = 0;  // hosts with the same number share ICI
  int64_t devices = 1;
};

// Hosts grouped by slice, slices in order; all slices hold equally many devices.
struct Topology {
  DeviceKind device;
  std::vector<Host> hosts;

  int64_t num_devices() const;
  int64_t num_slices() const;
};

// Errors as ParseJob's: file, line, path, what would be right; slices of unequal size are named.
StatusOr<Topology> ParseFleet(std::string_view text, std::string_view file);

// Sorts hosts by (slice, name), renumbers slices from 0 and checks that they hold equally many
// devices.
StatusOr<Topology> MakeTopology(DeviceKind device, std::vector<Host> hosts);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_FLEET_H_
