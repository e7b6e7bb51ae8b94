// Cancelling says what became of the job.
#include "cli/commands/commands.h"
#include "cli/testing/fake_coordinator.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(Cancel, AsksAndPrintsTheState) {
  FakeAnswers answers = FinishedJob();
  answers.job.set_state(v1::Job::CANCELLING);
  FakeCoordinator coordinator(answers);
  const Outcome outcome = RunWords({"cancel", "tiny-1", "--reason", "too slow"}, CancelCommand(),
                                   coordinator.address());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, "tiny-1 is CANCELLING\n");
  EXPECT_EQ(coordinator.requests().cancel.reason(), "too slow");
}

TEST(Cancel, UnknownJobsAreNotFound) {
  FakeCoordinator coordinator(FinishedJob());
  const Outcome outcome =
      RunWords({"cancel", "other", "-o", "json"}, CancelCommand(), coordinator.address());
  EXPECT_EQ(outcome.code, kExitNotFound);
  EXPECT_THAT(outcome.err, HasSubstr("there is no job other"));
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace trireme
