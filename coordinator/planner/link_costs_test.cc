// Closed forms on links of 1 KB/s and 1 s, and who shares a link that is limited.
#include "coordinator/planner/link_costs.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

// Links of 1000 bytes a second with a latency of 1 s inside a slice, 100 and 10 s between slices.
Topology SlowLinks(const std::string& kind, std::vector<Host> hosts) {
  return {.device = {.name = kind, .ici = {1000, 1}, .dcn = {100, 10}}, .hosts = std::move(hosts)};
}

// `floats` in, `out` floats out, over groups[group].
Instruction Call(std::string_view op, int64_t in, int64_t out, int32_t group = 0) {
  Instruction call{.op = std::string(op), .group = group};
  call.in = {{.sizes = {in}, .strides = {1}}};
  call.out = {{.sizes = {out}, .strides = {1}}};
  if (op == kPermuteOp) call.attrs.Set("shift", int64_t{1});
  return call;
}

TEST(LinkCosts, ClosedForms) {
  const Mesh mesh = *Mesh::Create({{"model", 4}});
  LinkCosts links(mesh, SlowLinks("cpu", {{"a", 0, 4}}), {}, -1);
  const std::vector<Group> groups = {{.axes = {0}}};
  const auto seconds = [&](const Instruction& call) {
    return links.CollectiveSeconds(0, groups, call);
  };
  EXPECT_DOUBLE_EQ(seconds(Call(kAllGatherOp, 250, 1000)), 3 * 1 + 3.0 / 4 * 4000 / 1000);
  EXPECT_DOUBLE_EQ(seconds(Call(kReduceScatterOp, 1000, 250)), 3 * 1 + 3.0 / 4 * 4000 / 1000);
  EXPECT_DOUBLE_EQ(seconds(Call(kAllReduceOp, 1000, 1000)), 2 * (3 * 1 + 3.0 / 4 * 4000 / 1000));
  EXPECT_DOUBLE_EQ(seconds(Call(kAllToAllOp, 1000, 1000)), 3 * 1 + 3.0 / 4 * 4000 / 1000);
  EXPECT_DOUBLE_EQ(seconds(Call(kPermuteOp, 1000, 1000)), 1 + 4000.0 / 1000);
}

TEST(LinkCosts, TheFabricOfTheGroupCounts) {
  const Mesh mesh = *Mesh::Create({{"data", 2}, {"replica_dcn", 2, Fabric::kDcn}});
  LinkCosts links(mesh, SlowLinks("h100", {{"a", 0, 2}, {"b", 1, 2}}), {}, -1);
  const std::vector<Group> groups = {{.axes = {0}}, {.axes = {1}, .fabric = Fabric::kDcn}};
  EXPECT_DOUBLE_EQ(links.CollectiveSeconds(0, groups, Call(kAllGatherOp, 500, 1000, 0)), 1 + 2);
  EXPECT_DOUBLE_EQ(links.CollectiveSeconds(0, groups, Call(kAllGatherOp, 500, 1000, 1)), 10 + 20);
}

TEST(LinkCosts, GroupsOfOneCostNothing) {
  const Mesh mesh = *Mesh::Create({{"model", 1}});
  LinkCosts links(mesh, SlowLinks("cpu", {{"a", 0, 1}}), {}, -1);
  EXPECT_EQ(links.CollectiveSeconds(0, {{.axes = {0}}}, Call(kAllReduceOp, 1000, 1000)), 0);
}

// Two hosts of two ranks: model groups are inside a host, data groups go from host to host, two of
// them at once. 8e-4 Mbit/s is 100 bytes a second between the hosts.
class LimitedLinks : public testing::Test {
 protected:
  static constexpr int64_t kMany = 10000;  // floats: not a small call
  const Mesh mesh_ = *Mesh::Create({{"data", 2}, {"model", 2}});
  const std::vector<Group> groups_ = {
      {.axes = {1}}, {.axes = {0}}, {.axes = {0, 1}}, {.axes = {0}, .fabric = Fabric::kDcn}};
  const NetworkSpec slow_{.ici = {.mbit_per_s = 8e-4, .latency_ms = 5000}};

  double Seconds(const Topology& topology, const Instruction& call) {
    return LinkCosts(mesh_, topology, slow_, -1).CollectiveSeconds(0, groups_, call);
  }
  const Topology hosts_ = SlowLinks("cpu", {{"a", 0, 2}, {"b", 0, 2}});
};

TEST_F(LimitedLinks, RanksOfOneHostDoNotMeetTheLimit) {
  EXPECT_DOUBLE_EQ(Seconds(hosts_, Call(kAllGatherOp, kMany / 2, kMany, 0)), 1 + 20000.0 / 1000);
}

TEST_F(LimitedLinks, RanksOfAHostShareTheWayToAnother) {
  EXPECT_DOUBLE_EQ(Seconds(hosts_, Call(kAllGatherOp, kMany / 2, kMany, 1)),
                   (1 + 5) + 20000.0 / (100.0 / 2));
  EXPECT_DOUBLE_EQ(Seconds(hosts_, Call(kPermuteOp, kMany, kMany, 1)),
                   (1 + 5) + 40000.0 / (100.0 / 2));
}

// A ring of all four crosses between the hosts once in each direction; a block passes three of its
// four hops, at worst both between hosts.
TEST_F(LimitedLinks, ARingOverBothHostsCrossesOnce) {
  EXPECT_DOUBLE_EQ(Seconds(hosts_, Call(kAllGatherOp, kMany / 4, kMany, 2)),
                   (6 + 6 + 1) + 30000.0 / 100);
  EXPECT_DOUBLE_EQ(Seconds(hosts_, Call(kAllReduceOp, kMany, kMany, 2)),
                   2 * ((6 + 6 + 1) + 30000.0 / 100));
}

// Each of the two ranks of a host sends two of its three parts to the other host: four thirds of
// what a rank sends cross.
TEST_F(LimitedLinks, EachToEachCrossesWithWhatIsMeantForTheOtherHost) {
  EXPECT_DOUBLE_EQ(Seconds(hosts_, Call(kAllToAllOp, kMany, kMany, 2)),
                   (3 * 1 + 5) + 30000.0 * (4.0 / 3) / 100);
}

// 4000 bytes to each of the three others, at once.
TEST_F(LimitedLinks, SmallCallsMeetTheLatencyOnce) {
  EXPECT_DOUBLE_EQ(Seconds(hosts_, Call(kAllReduceOp, 1000, 1000, 2)),
                   6 + 12000.0 * (4.0 / 3) / 100);
}

TEST_F(LimitedLinks, AWideLimitChangesNothing) {
  const NetworkSpec wide{.ici = {.mbit_per_s = 1000}};
  EXPECT_DOUBLE_EQ(LinkCosts(mesh_, hosts_, wide, -1)
                       .CollectiveSeconds(0, groups_, Call(kAllGatherOp, kMany / 2, kMany, 1)),
                   1 + 20000.0 / 1000);
}

TEST_F(LimitedLinks, LimitsAreForKindCpuAndTheirFabric) {
  const Instruction gather = Call(kAllGatherOp, kMany / 2, kMany, 1);
  EXPECT_DOUBLE_EQ(Seconds(SlowLinks("h100", {{"a", 0, 2}, {"b", 0, 2}}), gather),
                   1 + 20000.0 / 1000);
  const Topology slices = SlowLinks("cpu", {{"a", 0, 2}, {"b", 1, 2}});
  const Instruction between = Call(kAllGatherOp, kMany / 2, kMany, 3);
  EXPECT_DOUBLE_EQ(Seconds(slices, between), 10 + 20000.0 / 100) << "the limit is of ici";
}

TEST_F(LimitedLinks, StagesOnTwoHostsShareTheWayToo) {
  LinkCosts links(mesh_, hosts_, slow_, /*stage_axis=*/0);
  EXPECT_DOUBLE_EQ(links.BetweenStages(0, 1).Seconds(1000), (1 + 5) + 1000.0 / (100.0 / 2));
  LinkCosts inside(mesh_, hosts_, slow_, /*stage_axis=*/1);
  EXPECT_DOUBLE_EQ(inside.BetweenStages(1, 0).Seconds(1000), 1 + 1000.0 / 1000);
  EXPECT_DOUBLE_EQ(inside.BetweenStages(1, 1).Seconds(1000), 0);
}

// Only the ranks of the stage talk at that time: with stages on axis `model`, one data group a
// stage.
TEST_F(LimitedLinks, OtherStagesAreNotBeside) {
  LinkCosts links(mesh_, hosts_, slow_, /*stage_axis=*/1);
  EXPECT_DOUBLE_EQ(links.CollectiveSeconds(0, groups_, Call(kAllGatherOp, kMany / 2, kMany, 1)),
                   (1 + 5) + 20000.0 / 100);
}

}  // namespace
}  // namespace trireme
