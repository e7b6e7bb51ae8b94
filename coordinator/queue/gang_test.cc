// Where gangs land, what mesh sections demand, and what the waiting reason says.
#include "coordinator/queue/gang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void AddWorker(WorkerMap& workers, const std::string& name, const std::string& slice,
               int32_t devices, const std::string& kind = "cpu") {
  WorkerRecord& worker = workers[name];
  worker.info = {name, "host", slice, kind, devices, 1, "0.1.0", 0};
}

std::vector<std::string> Names(const Gang& gang) {
  std::vector<std::string> names;
  for (const GangWorker& worker : gang.workers) {
    names.push_back(worker.worker + "@" + std::to_string(worker.slice) + "x" +
                    std::to_string(worker.devices.size()));
  }
  return names;
}

TEST(DemandOf, FollowsTheMeshSection) {
  MeshSpec mesh;
  EXPECT_TRUE(DemandOf(mesh).ici_absorbs);
  EXPECT_TRUE(DemandOf(mesh).dcn_absorbs);
  mesh.axes = {{"data", 2}, {"model", 2}};
  mesh.dcn_axes = {{"replica_dcn", 2}};
  EXPECT_EQ(ToText(DemandOf(mesh)), "4 devices in each of 2 slices");
  mesh.axes = {{"data", -1}, {"model", 2}};
  mesh.dcn_axes = {{"replica_dcn", 1}};
  EXPECT_EQ(ToText(DemandOf(mesh)), "a multiple of 2 devices in one slice");
  mesh.axes = {{"model", 2}};  // data is not named: it absorbs
  mesh.dcn_axes = {{"stage", 2}};
  EXPECT_EQ(ToText(DemandOf(mesh)), "a multiple of 2 devices in each of a multiple of 2 slices");
}

TEST(PlaceGang, TakesFewestWorkersOfOneSlice) {
  WorkerMap workers;
  AddWorker(workers, "a", "0", 1);
  AddWorker(workers, "b", "0", 4);
  AddWorker(workers, "c", "0", 2);
  const GangDecision decision = PlaceGang({4, false, 1, false}, workers);
  ASSERT_TRUE(decision.gang.has_value()) << decision.reason;
  EXPECT_THAT(Names(*decision.gang), ElementsAre("b@0x4"));
}

TEST(PlaceGang, GivesEverySliceEquallyManyAndSortsByName) {
  WorkerMap workers;
  AddWorker(workers, "d", "x", 2);
  AddWorker(workers, "c", "x", 2);
  AddWorker(workers, "b", "y", 3);
  AddWorker(workers, "a", "y", 3);
  const GangDecision decision = PlaceGang({4, false, 2, false}, workers);
  ASSERT_TRUE(decision.gang.has_value()) << decision.reason;
  EXPECT_THAT(Names(*decision.gang), ElementsAre("c@0x2", "d@0x2", "a@1x3", "b@1x1"));
  EXPECT_EQ(decision.gang->num_devices(), 8);
}

TEST(PlaceGang, AnAbsorbingAxisTakesTheLargestMultiple) {
  WorkerMap workers;
  AddWorker(workers, "a", "0", 7);
  const GangDecision decision = PlaceGang({2, true, 1, true}, workers);
  ASSERT_TRUE(decision.gang.has_value());
  EXPECT_EQ(decision.gang->num_devices(), 6);
}

TEST(PlaceGang, SkipsTakenDevices) {
  WorkerMap workers;
  AddWorker(workers, "a", "0", 4);
  workers["a"].held[{"jobs/t-1", 1}] = {0, 2};
  const GangDecision decision = PlaceGang({2, false, 1, false}, workers);
  ASSERT_TRUE(decision.gang.has_value());
  EXPECT_THAT(decision.gang->workers[0].devices, ElementsAre(1, 3));
}

TEST(PlaceGang, ReasonCountsEverythingInTheWay) {
  WorkerMap workers;
  AddWorker(workers, "a", "0", 4);
  AddWorker(workers, "b", "0", 4);
  AddWorker(workers, "c", "0", 2);
  workers["a"].held[{"jobs/t-7", 1}] = {0, 1};
  workers["c"].state = WorkerState::kDisconnected;
  workers["c"].reason = "its stream closed";
  const GangDecision decision = PlaceGang({8, false, 1, false}, workers);
  EXPECT_FALSE(decision.gang.has_value());
  EXPECT_TRUE(decision.possible_later);
  EXPECT_EQ(decision.reason,
            "needs 8 devices in one slice; 6 free of 8 cpu in 1 slice (2 busy: jobs/t-7); 2 on "
            "worker c, which is not connected: its stream closed");
  EXPECT_TRUE(PlaceGangOnIdle({8, false, 1, false}, workers).gang.has_value());
}

TEST(PlaceGang, SaysWhatCanNeverFit) {
  WorkerMap workers;
  EXPECT_THAT(PlaceGang({2, false, 1, false}, workers).reason, HasSubstr("no worker is connected"));
  AddWorker(workers, "a", "0", 2);
  AddWorker(workers, "b", "1", 2);
  const GangDecision wide = PlaceGang({4, false, 1, false}, workers);
  EXPECT_FALSE(wide.possible_later);
  EXPECT_THAT(wide.reason, HasSubstr("the largest slice has 2"));
  const GangDecision slices = PlaceGang({2, false, 3, false}, workers);
  EXPECT_FALSE(slices.possible_later);
  EXPECT_THAT(slices.reason, HasSubstr("too few slices"));
}

TEST(PlaceGang, NeverMixesKinds) {
  WorkerMap workers;
  AddWorker(workers, "a", "0", 2, "cpu");
  AddWorker(workers, "b", "0", 2, "h100");
  EXPECT_FALSE(PlaceGang({4, false, 1, false}, workers).gang.has_value());
  EXPECT_EQ(PlaceGang({2, false, 1, false}, workers).gang->device_kind, "cpu");
}

}  // namespace
}  // namespace trireme
