// From a plan's hosts and device numbers to workers and their device ids.
#include "coordinator/service/planning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/parse.h"
#include "common/formats/sha256.h"
#include "coordinator/service/test_planner.h"

namespace trireme {
namespace {

TEST(PlanAttempt, MapsPlannedDevicesToThoseOfTheGang) {
  const auto spec = ParseJob(TestJobText("t", 3), "test.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const Gang gang{"cpu", {{"a", 0, {1, 3}}, {"b", 0, {0}}}};
  const auto planned = PlanAttempt(*spec, gang, TestPlanner());
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_EQ(planned->attempt.ranks.size(), 3u);
  EXPECT_EQ(planned->attempt.ranks[1].worker, "a");
  EXPECT_EQ(planned->attempt.ranks[1].device, 3);
  EXPECT_EQ(planned->attempt.ranks[2].worker, "b");
  ASSERT_EQ(planned->stages.size(), 1u);
  EXPECT_EQ(planned->stages[0].ranks_size(), 3);
  EXPECT_EQ(planned->stages[0].text(), "F0");
  const auto program = planned->programs.find(planned->attempt.ranks[0].program_sha256);
  ASSERT_NE(program, planned->programs.end());
  EXPECT_EQ(Sha256Hex(*program->second), program->first);
  EXPECT_EQ(planned->attempt.data.paths(0), "/tmp/none.txt");
}

TEST(PlanAttempt, CarriesLimitsTraceAndSlices) {
  auto spec = ParseJob(TestJobText("t", 2), "test.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  spec->network.ici = {.mbit_per_s = 1000, .latency_ms = 0.1};
  spec->network.dcn = {.mbit_per_s = 100, .latency_ms = 2};
  spec->trace = {.path = "/trace", .first_step = 4, .steps = 2};
  const auto planned = PlanAttempt(*spec, {"cpu", {{"a", 0, {0}}, {"b", 1, {0}}}}, TestPlanner());
  ASSERT_TRUE(planned.ok()) << planned.status();
  const AttemptPlan& attempt = planned->attempt;
  EXPECT_EQ(attempt.network.ici().mbit_per_s(), 1000);
  EXPECT_EQ(attempt.network.ici().latency_ms(), 0.1);
  EXPECT_EQ(attempt.network.dcn().mbit_per_s(), 100);
  EXPECT_EQ(attempt.network.dcn().latency_ms(), 2);
  EXPECT_EQ(attempt.trace.path(), "/trace");
  EXPECT_EQ(attempt.trace.first_step(), 4);
  EXPECT_EQ(attempt.trace.steps(), 2);
  EXPECT_EQ(attempt.ranks[0].slice, 0);
  EXPECT_EQ(attempt.ranks[1].slice, 1);
}

TEST(PlanTexts, GivesOnlyWhatWasAskedFor) {
  const auto spec = ParseJob(TestJobText("t", 2), "test.yaml");
  const auto topology = TopologyOf({"cpu", {{"a", 0, {0, 1}}}});
  ASSERT_TRUE(topology.ok()) << topology.status();
  v1::PlanJobRequest request;
  request.set_schedule(true);
  const auto texts = PlanTexts(*spec, *topology, request, TestPlanner());
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(texts->plan_json(), ::testing::HasSubstr("\"mesh\""));
  EXPECT_FALSE(texts->schedule_text().empty());
  EXPECT_TRUE(texts->program_text().empty());
  EXPECT_TRUE(texts->grid_text().empty());
  request.set_grid(true);
  EXPECT_THAT(PlanTexts(*spec, *topology, request, TestPlanner())->grid_text(),
              ::testing::HasSubstr("stage 0 | "));
}

}  // namespace
}  // namespace trireme
