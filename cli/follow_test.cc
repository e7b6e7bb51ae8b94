// A job is followed to its end, through broken streams, without losing or repeating a step.
#include "cli/follow.h"

#include <sstream>

#include "cli/testing/fake_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Followed {
  StatusOr<v1::Job> job;
  std::string out;
  std::string err;
};

Followed Follow(const FakeAnswers& answers, bool json) {
  FakeCoordinator coordinator(answers);
  Client client(coordinator.address());
  std::ostringstream out, err;
  Context context{out, err};
  FollowOptions options;
  options.json = json;
  auto job = FollowJob(client, "tiny-1", options, context);
  return {std::move(job), out.str(), err.str()};
}

TEST(FollowJob, PrintsEveryStepAsJson) {
  const Followed followed = Follow(FinishedJob(), true);
  ASSERT_TRUE(followed.job.ok()) << followed.job.status();
  EXPECT_EQ(followed.job->state(), v1::Job::SUCCEEDED);
  EXPECT_THAT(followed.out, StartsWith("{\"step\":1,\"train/loss\":5.0"));
  EXPECT_EQ(std::count(followed.out.begin(), followed.out.end(), '\n'), 2);
  EXPECT_THAT(followed.err, HasSubstr("RUNNING  all ranks train\n"));
}

TEST(FollowJob, ResumesBrokenStreams) {
  FakeAnswers answers = FinishedJob();
  answers.break_streams = 3;
  const Followed followed = Follow(answers, true);
  ASSERT_TRUE(followed.job.ok()) << followed.job.status();
  EXPECT_EQ(std::count(followed.out.begin(), followed.out.end(), '\n'), 2);
  EXPECT_EQ(std::count(followed.err.begin(), followed.err.end(), '\n'), 2);
}

TEST(FollowJob, ShowsFirstAndLastStepToPeople) {
  const Followed followed = Follow(FinishedJob(), false);
  EXPECT_THAT(followed.out, StartsWith("step 1/2  loss 5.0000"));
  EXPECT_THAT(followed.out, HasSubstr("\nstep 2/2  loss 4.0000"));
}

TEST(FollowJob, WritesOverOneLineOfATerminalAndCutsItAtTheEdge) {
  FakeCoordinator coordinator(FinishedJob());
  Client client(coordinator.address());
  std::ostringstream out, err;
  Context context{out, err};
  context.out_is_terminal = true;
  ASSERT_TRUE(FollowJob(client, "tiny-1", {}, context).ok());
  EXPECT_THAT(out.str(), HasSubstr("\r\033[K\033[?7lstep 2/2  loss 4.0000"));
  EXPECT_THAT(out.str(), ::testing::EndsWith("500 ms\033[?7h\n"));  // lines go on as they did
}

TEST(FollowJob, TellsWhenNobodyReads) {
  FakeCoordinator coordinator(FinishedJob());
  Client client(coordinator.address());
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  Context context{out, err};
  int calls = 0;
  FollowOptions options;
  options.on_broken_output = [&] { ++calls; };
  ASSERT_TRUE(FollowJob(client, "tiny-1", options, context).ok());
  EXPECT_EQ(calls, 2);
}

TEST(ReportEnd, SaysHowItEnded) {
  std::ostringstream out, err;
  Context context{out, err};
  v1::Job job = FinishedJob().job;
  EXPECT_EQ(ReportEnd(job, context), kExitOk);
  EXPECT_EQ(err.str(), "tiny-1 SUCCEEDED at step 2\n");
  job.set_state(v1::Job::FAILED);
  job.set_reason("rank 1 was killed");
  EXPECT_EQ(ReportEnd(job, context), kExitFailed);
  EXPECT_THAT(err.str(), HasSubstr("tiny-1 FAILED at step 2: rank 1 was killed\n"));
}

}  // namespace
}  // namespace trireme
