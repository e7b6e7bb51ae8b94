// Jobs are listed over all pages.
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

FakeAnswers TwoPages() {
  FakeAnswers answers = FinishedJob();
  answers.jobs = {answers.job, answers.job};
  answers.jobs[1].set_name("jobs/other-2");
  answers.jobs[1].set_reason(std::string(100, 'x'));
  return answers;
}

TEST(List, ReadsAllPages) {
  FakeCoordinator coordinator(TwoPages());
  const Outcome outcome = RunWords({"list"}, ListCommand(), coordinator.address());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("job      state      step  of    loss"));
  EXPECT_THAT(outcome.out, HasSubstr("\ntiny-1   SUCCEEDED     2   2  0.0000      2  all ranks"));
  EXPECT_THAT(outcome.out, HasSubstr("\nother-2  "));
  EXPECT_THAT(outcome.out, HasSubstr("xxx...\n"));
}

TEST(List, PrintsOneObjectALine) {
  FakeCoordinator coordinator(TwoPages());
  const Outcome outcome = RunWords({"list", "-o", "json"}, ListCommand(), coordinator.address());
  std::istringstream lines(outcome.out);
  std::vector<std::string> ids;
  for (std::string line; std::getline(lines, line);) {
    ids.push_back(nlohmann::json::parse(line)["id"]);
  }
  EXPECT_THAT(ids, ::testing::ElementsAre("tiny-1", "other-2"));
}

TEST(List, SaysWhatToDoWithoutJobsAndRefusesUnknownStates) {
  FakeCoordinator coordinator(FinishedJob());
  EXPECT_THAT(RunWords({"list"}, ListCommand(), coordinator.address()).out,
              HasSubstr("trireme submit"));
  const Outcome outcome =
      RunWords({"list", "--state", "done"}, ListCommand(), coordinator.address());
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("succeeded, failed, cancelled, got \"done\""));
}

}  // namespace
}  // namespace trireme
