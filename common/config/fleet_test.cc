// Fleet files become hosts sorted by slice; bad ones are refused with place, path and way out.
#include "common/config/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ParseFleet, ReadsAGrid) {
  const StatusOr<Topology> fleet = ParseFleet(
      "{device: h100, slices: 2, hosts_per_slice: 12, devices_per_host: 8}", "fleet.yaml");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  EXPECT_EQ(fleet->num_devices(), 192);
  EXPECT_EQ(fleet->num_slices(), 2);
  EXPECT_EQ(fleet->hosts[2].name, "slice0-host02");
  EXPECT_EQ(fleet->hosts[12].name, "slice1-host00");
  EXPECT_EQ(fleet->device.memory_bytes, 80000000000);
}

TEST(ParseFleet, DefaultsToOneDevice) {
  const StatusOr<Topology> fleet = ParseFleet("device: cpu", "fleet.yaml");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  EXPECT_EQ(fleet->num_devices(), 1);
  EXPECT_EQ(fleet->num_slices(), 1);
  EXPECT_EQ(fleet->device.memory_bytes, 0);
}

TEST(ParseFleet, SortsHostsAndRenumbersSlices) {
  const StatusOr<Topology> fleet = ParseFleet(
      "device: cpu\nhosts: [{name: z, slice: 7, devices: 2}, {name: b, slice: 9}, "
      "{name: c, slice: 9}]",
      "fleet.yaml");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  ASSERT_EQ(fleet->hosts.size(), 3u);
  EXPECT_EQ(fleet->hosts[0].name, "z");
  EXPECT_EQ(fleet->hosts[0].slice, 0);
  EXPECT_EQ(fleet->hosts[1].name, "b");
  EXPECT_EQ(fleet->hosts[1].slice, 1);
  EXPECT_EQ(fleet->hosts[2].slice, 1);
  EXPECT_EQ(fleet->num_slices(), 2);
}

TEST(ParseFleet, NamesPlacePathAndWayOut) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"slices: 2", "f:1: device: required but missing", "one of cpu, a100-80"},
      {"device: h10", "f:1: device: expected one of", "did you mean h100?"},
      {"device: cpu\nslice: 2", "f:2: slice: unknown key", "did you mean slices?"},
      {"device: cpu\nslices: 0", "f:2: slices: expected a whole number from 1", "got 0"},
      {"device: cpu\nslices: 1048576\nhosts_per_slice: 1000", "f:1: 1048576 slices", "more than"},
      {"device: cpu\nhosts: []", "f:2: hosts: expected a list", "{name: a"},
      {"device: cpu\nhosts: [{slice: 1}]", "f:2: hosts.0.name: required", ""},
      {"device: cpu\nhosts: [{name: a, device: 2}]", "f:2: hosts.0.device: unknown key",
       "did you mean hosts.0.devices?"},
      {"device: cpu\nslices: 2\nhosts: [{name: a}]", "f:2: slices: given beside", "keep one"},
      {"device: cpu\nhosts: [{name: a}, {name: a}]", "f:2: hosts: host a is there twice", "differ"},
      {"device: cpu\nhosts: [{name: a, devices: 2}, {name: b, slice: 1}]",
       "f:2: hosts: slice 0 has 2 devices but slice 1 has 1", "relabel"},
      {"device: cpu\nflops: 0", "f:2: flops: expected a number > 0", "got 0"},
      {"device: cpu\nlaunch_us: -1", "f:2: launch_us: expected a number", "got -1"},
      {"device: cpu\nici: 3", "f:2: ici: expected a map such as {gbyte_per_s: 2.5", "got 3"},
      {"device: cpu\ndcn: {gbytes_per_s: 3}", "f:2: dcn.gbytes_per_s: unknown key",
       "did you mean dcn.gbyte_per_s?"},
      {"device: cpu\ndcn: {latency_us: fast}", "f:2: dcn.latency_us: expected a number", "fast"},
      {"[1]", "f:1: expected a map such as", "got a list"},
  };
  for (const auto& [text, start, hint] : cases) {
    const StatusOr<Topology> fleet = ParseFleet(text, "f");
    ASSERT_FALSE(fleet.ok()) << text;
    const std::string error(ToStd(fleet.status().message()));
    EXPECT_THAT(error, StartsWith(start));
    EXPECT_THAT(error, HasSubstr(hint));
  }
}

TEST(FindDeviceKind, KnowsMemoryAndItsSource) {
  for (const char* name : {"a100-80", "h100", "h200", "b200"}) {
    const StatusOr<DeviceKind> kind = FindDeviceKind(name);
    ASSERT_TRUE(kind.ok()) << name;
    EXPECT_GT(kind->memory_bytes, kind->reserve_bytes);
    EXPECT_GT(kind->reserve_bytes, 0);
    EXPECT_THAT(kind->source, HasSubstr("data sheet"));
  }
  const StatusOr<DeviceKind> unknown = FindDeviceKind("tpu");
  EXPECT_THAT(std::string(ToStd(unknown.status().message())), HasSubstr("cpu, a100-80, h100"));
}

// Every kind can be predicted with; those of data sheets promise less than the sheet's peaks.
TEST(FindDeviceKind, KnowsSpeeds) {
  for (const char* name : {"cpu", "a100-80", "h100", "h200", "b200"}) {
    const DeviceKind kind = *FindDeviceKind(name);
    for (const double speed : {kind.flops, kind.bytes_per_s, kind.launch_s, kind.ici.bytes_per_s,
                               kind.ici.latency_s, kind.dcn.bytes_per_s, kind.dcn.latency_s}) {
      EXPECT_GT(speed, 0) << name;
    }
    EXPECT_GT(kind.ici.bytes_per_s, kind.dcn.bytes_per_s) << name;
  }
  EXPECT_EQ(FindDeviceKind("cpu")->speed_source, "uncalibrated");
  EXPECT_LT(FindDeviceKind("h100")->flops, 0.6 * 989e12);
}

TEST(ParseFleet, SpeedsOfTheFileTakeThePlaceOfTheKinds) {
  const StatusOr<Topology> fleet = ParseFleet(
      "{device: cpu, flops: 5e10, bytes_per_s: 9e9, launch_us: 1.5, ici: {gbyte_per_s: 2.5}, "
      "dcn: {latency_us: 40}}",
      "fleet.yaml");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  const DeviceKind defaults = *FindDeviceKind("cpu");
  EXPECT_EQ(fleet->device.flops, 5e10);
  EXPECT_EQ(fleet->device.bytes_per_s, 9e9);
  EXPECT_DOUBLE_EQ(fleet->device.launch_s, 1.5e-6);
  EXPECT_EQ(fleet->device.ici, (LinkSpeed{2.5e9, defaults.ici.latency_s}));
  EXPECT_EQ(fleet->device.dcn.bytes_per_s, defaults.dcn.bytes_per_s);
  EXPECT_DOUBLE_EQ(fleet->device.dcn.latency_s, 4e-5);
  EXPECT_EQ(fleet->device.speed_source, "speeds of the fleet file");
}

TEST(MakeTopology, RefusesNothingAndEmptyHosts) {
  EXPECT_FALSE(MakeTopology({}, {}).ok());
  EXPECT_FALSE(MakeTopology({}, {{"a", 0, 0}}).ok());
}

}  // namespace
}  // namespace trireme
