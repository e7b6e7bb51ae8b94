// The long texts of a plan: every collective and decision has its reason, and a rank's page shows all it holds.
#include "coordinator/planner/report_text.h"

#include "coordinator/planner/fake_plan.h"
#include "coordinator/planner/report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

const DeviceKind kCpu{"cpu", 0, 0, ""};

TEST(PlanExplain, GivesRolesParametersCollectivesAndDecisions) {
  EXPECT_EQ(PlanExplain(FakePlan(), kCpu),
            R"(mesh {model 2 | stage 2} of 4 ranks on cpu
  axis   size  fabric  role
  stage     2  dcn     stages: layers are mapped to it
  model     2  ici     splits tensors or computation of one replica

parameters (names of layers that are alike share a line)
  parameter        shape     sharding            on a rank  slices  stage
  wte              [64, 32]  [mlp/model, embed]  [32, 32]        2      0
  layers.{0-1}.up  [64, 32]  [mlp/model, embed]  [32, 32]        2      0
  layers.2.up      [64, 32]  [mlp/model, embed]  [32, 32]        2      1

collectives of a rank and step
  stage 0: all_reduce of attention out over (model) on ici, 4 times a step, 64.0 KiB
      because heads are split over model (shared_mapping heads: model)
  stage 0: all_reduce of mlp down over (model) on ici, 2 times a step, 32.0 KiB
      because mlp is split over model (shared_mapping mlp: model)
  stage 1: all_reduce of attention out over (model) on ici, 4 times a step, 64.0 KiB
      because heads are split over model (shared_mapping heads: model)
  stage 1: all_reduce of mlp down over (model) on ici, 2 times a step, 32.0 KiB
      because mlp is split over model (shared_mapping mlp: model)
  stage 1: all_reduce of wte over (stage) on dcn, 1 time a step, 512 B
      because the program asks for it

decisions
  VOCAB_PADDED  vocab 65 is padded to 66 so that model 2 divides it
)");
}

TEST(PlanExplain, SaysSoWhenThereIsNothingToSay) {
  Plan plan = FakePlan();
  plan.collectives.clear();
  plan.reasons.clear();
  const std::string text = PlanExplain(plan, kCpu);
  EXPECT_THAT(text, HasSubstr("none: every rank has all it needs"));
  EXPECT_THAT(text, HasSubstr("none: everything is as the job file says"));
}

TEST(PlanExplain, SaysWhatIsHiddenAndWhatExposed) {
  Plan plan = FakePlan();
  plan.prediction = FakePrediction();
  plan.collectives[0].hidden_s = 0.0031;
  plan.collectives[1].exposed_s = 0.00025;
  const std::string text = PlanExplain(plan, kCpu);
  EXPECT_THAT(text, HasSubstr("4 times a step, 64.0 KiB, hidden 3.1 ms, exposed 0 s a step\n"));
  EXPECT_THAT(text, HasSubstr("2 times a step, 32.0 KiB, hidden 0 s, exposed 250 us a step\n"));
  EXPECT_THAT(text, HasSubstr("\npredicted step 33 ms (compute 28 ms"));
}

TEST(PredictionText, IsOfTheBusiestStageAndLeavesOutTheBubbleOfOne) {
  Plan plan = FakePlan();
  EXPECT_EQ(PredictionText(plan), "") << "not predicted";
  plan.prediction = FakePrediction();
  plan.prediction.stages[1] = {0.030, 0, 0, 0.002, 0.001};
  EXPECT_THAT(PredictionText(plan), HasSubstr("compute 28 ms"));
  plan.prediction.stages[1].compute_s = 0.032;
  EXPECT_THAT(PredictionText(plan), HasSubstr("compute 32 ms, exposed transfers 2 ms, hidden 0 s"));
  plan.programs.pop_back();
  EXPECT_THAT(PredictionText(plan), testing::Not(HasSubstr("bubble")));
}

TEST(PlanRank, ShowsWhatARankHolds) {
  const auto text = PlanRank(FakePlan(), 3);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, R"(rank 3: host host-1, device 1, stage 1
coordinates stage 1, model 1

groups
  (model) on ici: ranks 2-3
  (stage) on dcn: ranks 1, 3

parameters
  parameter    shape     sharding            on a rank  slices  stage
  layers.2.up  [64, 32]  [mlp/model, embed]  [32, 32]        2      1

memory
  pool   slots  bytes of a slot  bytes
  PARAM      1             4096   4096
  SAVED      2             1024   2048
  arena      1             6144   6144
)");
}

TEST(PlanRank, RefusesRanksThatAreNotThere) {
  const auto text = PlanRank(FakePlan(), 4);
  EXPECT_EQ(text.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(text.status().message(), "there is no rank 4; this plan has ranks 0 to 3");
}

TEST(Count, PicksThePlural) {
  EXPECT_EQ(Count(1, "rank"), "1 rank");
  EXPECT_EQ(Count(0, "rank"), "0 ranks");
  EXPECT_EQ(Count(2, "microbatch", "microbatches"), "2 microbatches");
}

}  // namespace
}  // namespace trireme
