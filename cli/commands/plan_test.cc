// Plans are made offline or asked for, and say in their exit code whether the job fits.
#include "cli/commands/commands.h"
#include "cli/testing/fake_coordinator.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kFourCpus[] = "{device: cpu, slices: 1, hosts_per_slice: 1, devices_per_host: 4}";

TEST(Plan, IsMadeOffline) {
  const std::string job = WriteJob(testing::TempDir(), "plan.yaml");
  const Outcome text = RunWords({"plan", job, "--fleet", kFourCpus}, PlanCommand());
  EXPECT_EQ(text.code, kExitOk) << text.err;
  EXPECT_THAT(text.out, StartsWith("job        tiny: 4 ranks on cpu, 1 stage\n"));
  const Outcome json = RunWords({"plan", job, "--fleet", kFourCpus, "-o", "json"}, PlanCommand());
  EXPECT_EQ(nlohmann::json::parse(json.out)["ranks"].size(), 4u);
}

TEST(Plan, PrintsEveryTextThatIsAskedFor) {
  const std::string job = WriteJob(testing::TempDir(), "plan_texts.yaml");
  const Outcome outcome = RunWords(
      {"plan", job, "--fleet", kFourCpus, "--explain", "--program", "--schedule", "--rank", "3"},
      PlanCommand());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  for (const char* part : {"decisions\n", "\nstage 0 on ", "\nstage 0: ", "rank 3: host"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

// The grid, its legend and what each stage does, as predicted from the speeds of the fleet.
TEST(Plan, DrawsThePredictedGrid) {
  const std::string job = WriteJob(testing::TempDir(), "plan_grid.yaml");
  const Outcome outcome =
      RunWords({"plan", job, "--set", "mesh.axes={stage: 2, data: 1}", "--set",
                "train.microbatch_size=4", "--grid", "--fleet",
                "{device: cpu, hosts_per_slice: 2, flops: 1e9, bytes_per_s: 1e15, launch_us: 0, "
                "ici: {gbyte_per_s: 1000, latency_us: 0}}"},
               PlanCommand());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("stage 0 | F0"));
  for (const char* part :
       {"\nstage 1 | ", "\none column is ", " ms; F forward", "\npredicted step ", "bubble ",
        "(speeds of the fleet file)\n", "\n  stage  busy  compute  exposed  hidden  "}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

TEST(Plan, SaysWhatIsPredicted) {
  const std::string job = WriteJob(testing::TempDir(), "plan_predicted.yaml");
  EXPECT_THAT(RunWords({"plan", job, "--fleet", kFourCpus}, PlanCommand()).out,
              HasSubstr("\npredicted  step "));
  EXPECT_THAT(RunWords({"plan", job, "--fleet", kFourCpus, "--explain"}, PlanCommand()).out,
              HasSubstr(", hidden 0 s, exposed "));
  const Outcome json = RunWords({"plan", job, "--fleet", kFourCpus, "-o", "json"}, PlanCommand());
  EXPECT_GT(nlohmann::json::parse(json.out)["prediction"]["step_s"].get<double>(), 0);
}

TEST(Plan, BadSpeedsOfTheFleetAreRefused) {
  const std::string job = WriteJob(testing::TempDir(), "plan_speeds.yaml");
  const Outcome outcome =
      RunWords({"plan", job, "--fleet", "{device: cpu, ici: {gbyte_per_s: 0}}"}, PlanCommand());
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("ici.gbyte_per_s: expected a number > 0, got 0"));
}

TEST(Plan, CannotBeShardedIsExitCodeSeven) {
  const std::string job = WriteJob(testing::TempDir(), "plan_seven.yaml");
  const Outcome outcome = RunWords(
      {"plan", job, "--fleet", kFourCpus, "--set", "mesh.axes={data: 1, model: 4}"}, PlanCommand());
  EXPECT_EQ(outcome.code, kExitDoesNotFit) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("heads"));
}

TEST(Plan, NeedsDevicesToPlanFor) {
  const std::string job = WriteJob(testing::TempDir(), "plan_for.yaml");
  EXPECT_THAT(RunWords({"plan", job}, PlanCommand()).err, HasSubstr("--fleet FILE plans offline"));
  EXPECT_THAT(RunWords({"plan", job, "--fleet", "x", "--coordinator", "y"}, PlanCommand()).err,
              HasSubstr("not both"));
  const Outcome rank = RunWords({"plan", job, "--fleet", kFourCpus, "--rank", "4"}, PlanCommand());
  EXPECT_EQ(rank.code, kExitUsage);
  EXPECT_THAT(rank.err, HasSubstr("from 0 to 3, got \"4\""));
}

TEST(Plan, AsksTheCoordinatorForTheGrid) {
  FakeAnswers answers = FinishedJob();
  answers.plan.set_plan_json(R"({"fits": true})");
  answers.plan.set_grid_text("stage 0 | F0\n");
  FakeCoordinator coordinator(answers);
  const std::string job = WriteJob(testing::TempDir(), "plan_grid_online.yaml");
  const Outcome outcome = RunWords({"plan", job, "--grid"}, PlanCommand(), coordinator.address());
  EXPECT_EQ(outcome.out, "stage 0 | F0\n");
  EXPECT_TRUE(coordinator.requests().plan.grid());
}

TEST(Plan, AsksTheCoordinatorForItsCluster) {
  FakeAnswers answers = FinishedJob();
  answers.plan.set_plan_json(R"({"fits": false})");
  answers.plan.set_summary_text("the plan\n");
  FakeCoordinator coordinator(answers);
  const std::string job = WriteJob(testing::TempDir(), "plan_online.yaml");
  const Outcome outcome = RunWords({"plan", job}, PlanCommand(), coordinator.address());
  EXPECT_EQ(outcome.out, "the plan\n");
  EXPECT_EQ(outcome.code, kExitDoesNotFit);
  EXPECT_THAT(coordinator.requests().plan.job_text(), HasSubstr("\"tiny\""));
}

}  // namespace
}  // namespace trireme
