// Leases, incarnations and devices of workers under virtual time.
#include "coordinator/cluster/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLeaseMs = 45000;

Cluster MakeCluster() {
  return Cluster({.lease_ms = kLeaseMs, .longest_tick_gap_ms = 3000, .op_table_hash = 7});
}

WorkerInfo Info(const std::string& name, int64_t incarnation) {
  return {name, "host", "0", "cpu", 2, incarnation, "0.1.0", 7};
}

Now At(int64_t ms) { return {ms, 1000000 + ms}; }

// Ticks each second in (from, to].
std::vector<ClusterAction> TickUntil(Cluster& cluster, int64_t from, int64_t to) {
  std::vector<ClusterAction> all;
  for (int64_t ms = from + 1000; ms <= to; ms += 1000) {
    for (ClusterAction& action : cluster.Apply(ClusterTick{}, At(ms))) all.push_back(action);
  }
  return all;
}

template <typename T>
const T* Only(const std::vector<ClusterAction>& actions) {
  const T* found = nullptr;
  for (const ClusterAction& action : actions) {
    if (const T* match = std::get_if<T>(&action)) {
      EXPECT_EQ(found, nullptr) << "more than one";
      found = match;
    }
  }
  return found;
}

TEST(Cluster, AdmitsAWorkerAndOffersItsDevices) {
  Cluster cluster = MakeCluster();
  const auto actions = cluster.Apply(WorkerRegistered{Info("a", 1), {}}, At(0));
  EXPECT_NE(Only<AdmitWorker>(actions), nullptr);
  EXPECT_THAT(cluster.Find("a")->FreeDevices(), ElementsAre(0, 1));
}

TEST(Cluster, RefusesAnotherOpTableABadNameAndAnOlderIncarnation) {
  Cluster cluster = MakeCluster();
  WorkerInfo other = Info("a", 1);
  other.op_table_hash = 8;
  EXPECT_THAT(Only<RefuseWorker>(cluster.Apply(WorkerRegistered{other, {}}, At(0)))->reason,
              HasSubstr("run the same build"));
  EXPECT_THAT(
      Only<RefuseWorker>(cluster.Apply(WorkerRegistered{Info("A b", 1), {}}, At(0)))->reason,
      HasSubstr("choose another --name"));
  cluster.Apply(WorkerRegistered{Info("a", 5), {}}, At(0));
  EXPECT_THAT(Only<RefuseWorker>(cluster.Apply(WorkerRegistered{Info("a", 4), {}}, At(0)))->reason,
              HasSubstr("newer start (5 > 4)"));
  EXPECT_EQ(cluster.Find("a")->info.incarnation, 5);
}

TEST(Cluster, LeaseExpiresOnlyAfterSilence) {
  Cluster cluster = MakeCluster();
  const AttemptId id{"jobs/t-1", 1};
  cluster.Apply(ClusterTick{}, At(0));
  cluster.Apply(WorkerRegistered{Info("a", 1), {}}, At(0));
  cluster.Apply(DevicesTaken{"a", id, {1}}, At(0));
  EXPECT_TRUE(TickUntil(cluster, 0, 40000).empty());
  cluster.Apply(WorkerBeat{"a", 1}, At(40000));
  EXPECT_TRUE(TickUntil(cluster, 40000, 85000).empty());  // 45 s after the beat: just alive
  const auto actions = TickUntil(cluster, 85000, 90000);
  const AssignmentsLost* lost = Only<AssignmentsLost>(actions);
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->worker, "a");
  EXPECT_THAT(lost->ids, ElementsAre(id));
  EXPECT_EQ(lost->reason, "worker a: no sign of life for 46 s");
  EXPECT_EQ(cluster.Find("a")->state, WorkerState::kLost);
}

TEST(Cluster, AShortCutKeepsTheAssignment) {
  Cluster cluster = MakeCluster();
  const AttemptId id{"jobs/t-1", 1};
  cluster.Apply(WorkerRegistered{Info("a", 1), {}}, At(0));
  cluster.Apply(DevicesTaken{"a", id, {0}}, At(0));
  cluster.Apply(WorkerStreamClosed{"a", 1}, At(1000));
  EXPECT_EQ(cluster.Find("a")->state, WorkerState::kDisconnected);
  const auto actions = cluster.Apply(WorkerRegistered{Info("a", 1), {id}}, At(20000));
  EXPECT_EQ(Only<AssignmentsLost>(actions), nullptr);
  EXPECT_THAT(Only<AdmitWorker>(actions)->running, ElementsAre(id));
  EXPECT_EQ(cluster.Find("a")->state, WorkerState::kReady);
  EXPECT_THAT(cluster.Find("a")->FreeDevices(), ElementsAre(1));
}

TEST(Cluster, ANewIncarnationLosesWhatTheOldOneHeld) {
  Cluster cluster = MakeCluster();
  cluster.Apply(WorkerRegistered{Info("a", 1), {}}, At(0));
  cluster.Apply(DevicesTaken{"a", {"jobs/t-1", 1}, {0, 1}}, At(0));
  const auto actions = cluster.Apply(WorkerRegistered{Info("a", 2), {}}, At(10));
  EXPECT_EQ(Only<AssignmentsLost>(actions)->code, "WORKER_RESTARTED");
  EXPECT_THAT(cluster.Find("a")->FreeDevices(), ElementsAre(0, 1));
  // The old stream's end comes late and must not hurt the new one.
  cluster.Apply(WorkerStreamClosed{"a", 1}, At(20));
  EXPECT_EQ(cluster.Find("a")->state, WorkerState::kReady);
}

TEST(Cluster, AnUnknownAssignmentHoldsAllDevicesUntilItEnds) {
  Cluster cluster = MakeCluster();
  const AttemptId id{"jobs/old-1", 3};
  cluster.Apply(WorkerRegistered{Info("a", 1), {id}}, At(0));
  EXPECT_TRUE(cluster.Find("a")->FreeDevices().empty());
  EXPECT_NE(Only<CapacityChanged>(cluster.Apply(DevicesFreed{"a", id}, At(1))), nullptr);
  EXPECT_THAT(cluster.Find("a")->FreeDevices(), ElementsAre(0, 1));
}

TEST(Cluster, TimeInWhichTheCoordinatorStoodStillDoesNotCount) {
  Cluster cluster = MakeCluster();
  cluster.Apply(ClusterTick{}, At(0));
  cluster.Apply(WorkerRegistered{Info("a", 1), {}}, At(0));
  cluster.Apply(DevicesTaken{"a", {"jobs/t-1", 1}, {0}}, At(0));
  EXPECT_TRUE(cluster.Apply(ClusterTick{}, At(600000)).empty());
  EXPECT_EQ(cluster.Find("a")->state, WorkerState::kReady);
  EXPECT_EQ(TickUntil(cluster, 600000, 650000).size(), 1u);
}

TEST(ClusterDeath, TakingADeviceTwiceIsABug) {
  Cluster cluster = MakeCluster();
  cluster.Apply(WorkerRegistered{Info("a", 1), {}}, At(0));
  cluster.Apply(DevicesTaken{"a", {"jobs/t-1", 1}, {0}}, At(0));
  EXPECT_DEATH(cluster.Apply(DevicesTaken{"a", {"jobs/t-2", 1}, {0}}, At(0)), "taken twice");
}

}  // namespace
}  // namespace trireme
