// The pushed schedule is shown by stage.
#include "cli/commands/commands.h"
#include "cli/testing/fake_coordinator.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(Schedule, ShowsEveryStage) {
  FakeAnswers answers = FinishedJob();
  answers.schedule.set_name("jobs/tiny-1");
  answers.schedule.set_attempt(1);
  v1::StageSchedule* stage = answers.schedule.add_stages();
  stage->set_text("G F0 B0 U1 U2");
  stage->set_program_sha256("0123456789abcdef");
  stage->add_ranks(0);
  stage->add_ranks(1);
  FakeCoordinator coordinator(answers);
  const Outcome outcome =
      RunWords({"schedule", "tiny-1"}, ScheduleCommand(), coordinator.address());
  EXPECT_EQ(outcome.out,
            "tiny-1 attempt 1\nstage 0, ranks 0-1, program 0123456789ab: G F0 B0 U1 U2\n");
  const auto json = nlohmann::json::parse(
      RunWords({"schedule", "tiny-1", "-o", "json"}, ScheduleCommand(), coordinator.address()).out);
  EXPECT_EQ(json["stages"][0]["ranks"].size(), 2u);
  EXPECT_THAT(RunWords({"schedule"}, ScheduleCommand()).err, HasSubstr("schedule needs JOB"));
}

}  // namespace
}  // namespace trireme
