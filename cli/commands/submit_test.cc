// A job reaches the coordinator whole, or not at all.
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

TEST(Submit, SendsTheJobAndFollowsIt) {
  FakeCoordinator coordinator(FinishedJob());
  const std::string job = WriteJob(testing::TempDir(), "submit.yaml");
  const Outcome outcome = RunWords({"submit", job, "--set", "train.steps=7"}, SubmitCommand(),
                                   coordinator.address());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("tiny-1\nstep 1/2  loss 5.0000"));
  EXPECT_THAT(outcome.err, HasSubstr("tiny-1 SUCCEEDED"));
  const auto sent = nlohmann::json::parse(coordinator.requests().create.job_text());
  EXPECT_EQ(sent["train"]["steps"], 7);
  EXPECT_EQ(sent["data"]["train"][0]["path"], "/work/corpus.txt");
  EXPECT_FALSE(coordinator.requests().create.request_id().empty());
}

TEST(Submit, DetachPrintsTheIdOnly) {
  FakeCoordinator coordinator(FinishedJob());
  const std::string job = WriteJob(testing::TempDir(), "submit_detach.yaml");
  const Outcome outcome =
      RunWords({"submit", job, "--detach"}, SubmitCommand(), coordinator.address());
  EXPECT_EQ(outcome.out, "tiny-1\n");
}

TEST(Submit, FailedJobsAreExitCodeOne) {
  FakeAnswers answers = FinishedJob();
  answers.job.set_state(v1::Job::FAILED);
  answers.job.set_reason("rank 1 was killed by signal 9");
  FakeCoordinator coordinator(answers);
  const std::string job = WriteJob(testing::TempDir(), "submit_failed.yaml");
  const Outcome outcome = RunWords({"submit", job}, SubmitCommand(), coordinator.address());
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 was killed by signal 9"));
}

TEST(Submit, BadFilesReachNobody) {
  const std::string job = WriteJob(testing::TempDir(), "submit_bad.yaml");
  const Outcome outcome = RunWords({"submit", job, "--set", "train.stepz=7"}, SubmitCommand(),
                                   "127.0.0.1:1");
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean train.steps?"));
}

}  // namespace
}  // namespace trireme
