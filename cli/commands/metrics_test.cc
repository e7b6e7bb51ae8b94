// Steps come as lines for people and objects for scripts.
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

TEST(Metrics, PrintsEveryStep) {
  FakeCoordinator coordinator(FinishedJob());
  const Outcome text = RunWords({"metrics", "tiny-1"}, MetricsCommand(), coordinator.address());
  EXPECT_EQ(text.code, kExitOk) << text.err;
  EXPECT_THAT(text.out, StartsWith("step 1/2  loss 5.0000"));
  EXPECT_THAT(text.out, HasSubstr("\nstep 2/2  loss 4.0000"));
}

TEST(Metrics, StartsWhereItIsTold) {
  FakeCoordinator coordinator(FinishedJob());
  const Outcome outcome = RunWords({"metrics", "tiny-1", "--from-step=2", "-o=json", "--follow"},
                                   MetricsCommand(), coordinator.address());
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["step"], 2);
  EXPECT_TRUE(coordinator.requests().metrics.follow());
}

TEST(Metrics, OfExpertsAreAColumnForPeopleAndKeysForScripts) {
  FakeAnswers answers = FinishedJob();
  for (v1::StepMetrics& step : answers.steps) {
    step.mutable_router()->set_load_max_over_mean(1.5);
    step.add_routers()->add_loads(1);
  }
  FakeCoordinator coordinator(answers);
  const auto run = [&](const std::vector<std::string>& words) {
    return RunWords(words, MetricsCommand(), coordinator.address()).out;
  };
  EXPECT_THAT(run({"metrics", "tiny-1"}), HasSubstr("  load 1.50x  "));
  const std::string last = run({"metrics", "tiny-1", "--from-step=2", "-o=json"});
  EXPECT_EQ(nlohmann::json::parse(last)["moe/layer0/expert0_load"], 1.0);
}

TEST(Metrics, UnknownJobsAreNotFound) {
  FakeCoordinator coordinator(FinishedJob());
  EXPECT_EQ(RunWords({"metrics", "x"}, MetricsCommand(), coordinator.address()).code,
            kExitNotFound);
}

}  // namespace
}  // namespace trireme
