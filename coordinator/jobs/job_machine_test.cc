// A job's life under virtual time: the good path, every way to end badly, and what late or foreign
// reports may not do.
#include "coordinator/jobs/job_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/jobs/timestamp.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using v1::Job;

// Two workers with two ranks each: ranks 0 and 1 on a, 2 and 3 on b. 20 steps.
class JobMachineTest : public ::testing::Test {
 protected:
  JobMachineTest() : machine_(JobMachine::Create(NewJob(), At(0), created_)) {}

  static Job NewJob() {
    Job job;
    job.set_name("jobs/t-1");
    job.set_total_steps(20);
    return job;
  }
  static Now At(int64_t ms) { return {ms, 1000000 + ms}; }
  static std::string WorkerOf(int32_t rank) { return rank < 2 ? "a" : "b"; }

  JobOutput Do(const JobInput& input, int64_t ms = 1) { return machine_.Apply(input, At(ms)); }

  v1::RankUpdate Update(int32_t rank, int64_t attempt = 1) {
    v1::RankUpdate update;
    update.set_job("jobs/t-1");
    update.set_attempt(attempt);
    update.set_rank(rank);
    return update;
  }
  JobOutput Listening(int32_t rank) {
    v1::RankUpdate update = Update(rank);
    update.mutable_listening()->set_address("127.0.0.1:" + std::to_string(9000 + rank));
    return Do(RankSaid{WorkerOf(rank), update});
  }
  JobOutput Ready(int32_t rank, int64_t first_step = 0) {
    v1::RankUpdate update = Update(rank);
    update.mutable_ready()->set_first_step(first_step);
    return Do(RankSaid{WorkerOf(rank), update});
  }
  JobOutput Wrote(int32_t rank, int64_t step, int64_t attempt = 1) {
    v1::RankUpdate update = Update(rank, attempt);
    update.mutable_checkpoint()->set_step(step);
    update.mutable_checkpoint()->set_folder("/ckpt/step-" + std::to_string(step));
    return Do(RankSaid{WorkerOf(rank), update});
  }
  JobOutput Committed(int64_t step, int32_t code = 0) {
    v1::CommitResult result;
    result.set_attempt(1);
    result.set_step(step);
    result.set_folder("/ckpt/step-" + std::to_string(step));
    result.set_code(code);
    result.set_message("no space");
    return Do(CommitSaid{result});
  }
  JobOutput Done(int32_t rank, int64_t step = 20) {
    v1::RankUpdate update = Update(rank);
    update.mutable_done()->set_step(step);
    return Do(RankSaid{WorkerOf(rank), update});
  }
  JobOutput Failed(int32_t rank, absl::StatusCode code, const std::string& message,
                   int64_t ms = 1) {
    v1::RankUpdate update = Update(rank);
    update.mutable_failed()->set_code(static_cast<int32_t>(code));
    update.mutable_failed()->set_message(message);
    return Do(RankSaid{WorkerOf(rank), update}, ms);
  }

  JobOutput Plan() {
    Do(JobStarts{{"a", "b"}, 4});
    AttemptPlan plan;
    plan.token = "secret";
    plan.ranks = {{"a", 0, "p0"}, {"a", 1, "p0"}, {"b", 0, "p1"}, {"b", 1, "p1"}};
    return Do(JobPlanned{plan});
  }
  void Run() {
    Plan();
    for (int32_t rank = 0; rank < 4; ++rank) Listening(rank);
    for (int32_t rank = 0; rank < 4; ++rank) Ready(rank);
    ASSERT_EQ(machine_.job().state(), Job::RUNNING);
  }

  JobOutput created_;
  JobMachine machine_;
};

std::vector<std::string> Codes(const JobOutput& output) {
  std::vector<std::string> codes;
  for (const v1::JobEvent& event : output.events) codes.push_back(event.code());
  return codes;
}

TEST_F(JobMachineTest, GoesFromQueuedToSucceeded) {
  EXPECT_THAT(Codes(created_), ElementsAre("CREATED"));
  EXPECT_THAT(Codes(Do(JobWaits{"needs 4 devices, 2 free of 4"})), ElementsAre("WAITING"));
  EXPECT_THAT(Codes(Do(JobWaits{"needs 4 devices, 2 free of 4"})), ElementsAre());
  const JobOutput planned = Plan();
  EXPECT_THAT(Codes(planned), ElementsAre("PLACING", "FETCHING"));
  ASSERT_EQ(planned.messages.size(), 2u);
  EXPECT_EQ(planned.messages[1].worker, "b");
  const v1::Assign& assign = planned.messages[1].message.assign();
  EXPECT_EQ(assign.num_ranks(), 4);
  ASSERT_EQ(assign.ranks_size(), 2);
  EXPECT_EQ(assign.ranks(0).rank(), 2);
  EXPECT_EQ(assign.ranks(0).program_sha256(), "p1");
  EXPECT_THAT(Codes(Listening(2)), ElementsAre("RENDEZVOUS"));
  Listening(0);
  Listening(1);
  const JobOutput met = Listening(3);
  EXPECT_THAT(Codes(met), ElementsAre("RESTORING"));
  ASSERT_EQ(met.messages.size(), 2u);
  const v1::Rendezvous& rendezvous = met.messages[0].message.rendezvous();
  ASSERT_EQ(rendezvous.peers_size(), 4);
  EXPECT_EQ(rendezvous.peers(3).address(), "127.0.0.1:9003");
  EXPECT_EQ(rendezvous.peers(3).worker(), "b");
  EXPECT_EQ(rendezvous.peers(3).local_index(), 1);
  for (int32_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(Ready(rank).events.empty());
  EXPECT_THAT(Codes(Ready(3)), ElementsAre("RUNNING"));
  for (int32_t rank = 0; rank < 3; ++rank) Done(rank);
  EXPECT_THAT(Codes(Done(3)), ElementsAre("SUCCEEDED"));
  EXPECT_EQ(machine_.job().step(), 20);
  EXPECT_EQ(ToWallMs(machine_.job().end_time()), 1000001);
  EXPECT_EQ(machine_.job().revision(), 9);
}

TEST_F(JobMachineTest, AReportForAnotherRankOrAttemptOrFromAnotherWorkerChangesNothing) {
  Run();
  v1::RankUpdate failed = Update(0);
  failed.mutable_failed()->set_message("x");
  EXPECT_TRUE(Do(RankSaid{"b", failed}).events.empty());
  failed.set_rank(9);
  EXPECT_TRUE(Do(RankSaid{"a", failed}).events.empty());
  failed.set_rank(0);
  failed.set_attempt(7);
  EXPECT_TRUE(Do(RankSaid{"a", failed}).events.empty());
  EXPECT_EQ(machine_.job().state(), Job::RUNNING);
}

TEST_F(JobMachineTest, CommitsACheckpointOnceAllRanksWroteIt) {
  Run();
  for (int32_t rank : {3, 1, 0, 1}) EXPECT_FALSE(Wrote(rank, 10).commit.has_value());
  const JobOutput last = Wrote(2, 10);
  ASSERT_TRUE(last.commit.has_value());
  EXPECT_EQ(last.commit->folder, "/ckpt/step-10");
  ASSERT_EQ(last.messages.size(), 1u);
  EXPECT_EQ(last.messages[0].worker, "a");
  EXPECT_EQ(last.messages[0].message.commit().step(), 10);
  EXPECT_FALSE(Wrote(2, 10).commit.has_value());  // said again after a reconnect
  EXPECT_EQ(machine_.job().checkpoint_step(), 0);
  EXPECT_THAT(Codes(Committed(10)), ElementsAre("CHECKPOINT_COMMITTED"));
  EXPECT_EQ(machine_.job().checkpoint_step(), 10);
}

TEST_F(JobMachineTest, AnotherAttemptsCheckpointIsFencedOff) {
  Run();
  for (int32_t rank = 0; rank < 4; ++rank) {
    EXPECT_FALSE(Wrote(rank, 10, /*attempt=*/2).commit.has_value());
  }
}

TEST_F(JobMachineTest, SuccessWaitsForTheLastCommit) {
  Run();
  for (int32_t rank = 0; rank < 4; ++rank) Wrote(rank, 20);
  for (int32_t rank = 0; rank < 4; ++rank) EXPECT_TRUE(Done(rank).events.empty());
  EXPECT_THAT(Codes(Committed(20)), ElementsAre("CHECKPOINT_COMMITTED", "SUCCEEDED"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("/ckpt/step-20"));
}

TEST_F(JobMachineTest, AFailedCommitFailsTheJob) {
  Run();
  for (int32_t rank = 0; rank < 4; ++rank) Wrote(rank, 10);
  EXPECT_THAT(Codes(Committed(10, 8)), ElementsAre("CHECKPOINT_FAILED"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("no space"));
  EXPECT_EQ(machine_.job().state(), Job::FAILED);
}

TEST_F(JobMachineTest, ARankFailureFailsTheJobAndStopsTheRest) {
  Run();
  const JobOutput output = Failed(2, absl::StatusCode::kInternal, "killed by signal 9");
  EXPECT_THAT(Codes(output), ElementsAre("RANK_FAILED"));
  EXPECT_EQ(machine_.job().reason(), "rank 2 on worker b failed: killed by signal 9");
  ASSERT_EQ(output.messages.size(), 2u);
  EXPECT_TRUE(output.messages[0].message.stop().kill());
}

TEST_F(JobMachineTest, TheCauseIsPreferredToThoseWhoSufferFromIt) {
  Run();
  EXPECT_TRUE(Failed(0, absl::StatusCode::kAborted, "rank 2 is gone", 100).events.empty());
  Failed(2, absl::StatusCode::kInternal, "killed by signal 9", 200);
  EXPECT_EQ(machine_.job().reason(), "rank 2 on worker b failed: killed by signal 9");
}

TEST_F(JobMachineTest, WithoutABetterCauseTheFirstReportCounts) {
  Run();
  Failed(0, absl::StatusCode::kAborted, "rank 2 is gone", 100);
  EXPECT_TRUE(Do(JobTick{}, 1599).events.empty());
  EXPECT_THAT(Codes(Do(JobTick{}, 1600)), ElementsAre("RANK_FAILED"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("rank 2 is gone"));
}

TEST_F(JobMachineTest, AWorkerThatIsAwayIsNamedBeforeThoseWhoMissIt) {
  Run();
  Do(WorkerAway{"b", 1});
  Failed(0, absl::StatusCode::kAborted, "rank 2 is gone", 100);
  EXPECT_THAT(Codes(Do(JobTick{}, 1600)), ElementsAre("WORKER_LOST"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("worker b has closed its stream"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("rank 2 is gone"));
}

TEST_F(JobMachineTest, AWorkerThatCameBackIsNotBlamed) {
  Run();
  Do(WorkerAway{"b", 1});
  Do(WorkerBack{"b", 1});
  Failed(0, absl::StatusCode::kAborted, "rank 2 is gone", 100);
  EXPECT_THAT(Codes(Do(JobTick{}, 1600)), ElementsAre("RANK_FAILED"));
}

TEST_F(JobMachineTest, ALostWorkerFailsTheJobByName) {
  Run();
  Do(WorkerGone{"c", 1, "WORKER_LOST", "worker c: silent"});
  EXPECT_EQ(machine_.job().state(), Job::RUNNING);
  const JobOutput output = Do(WorkerGone{"b", 1, "WORKER_LOST", "worker b: silent"});
  EXPECT_THAT(Codes(output), ElementsAre("WORKER_LOST"));
  EXPECT_EQ(machine_.job().reason(), "worker b: silent");
  ASSERT_EQ(output.messages.size(), 1u);  // a only: b is gone
  EXPECT_EQ(output.messages[0].worker, "a");
}

TEST_F(JobMachineTest, AWorkerWhoseRanksAreDoneMayLeave) {
  Run();
  Done(2);
  Done(3);
  Do(AssignmentLeft{"b", 1});
  Do(WorkerGone{"b", 1, "WORKER_LOST", "worker b: silent"});
  EXPECT_EQ(machine_.job().state(), Job::RUNNING);
}

TEST_F(JobMachineTest, AWorkerThatLeavesWithoutAResultFailsTheJob) {
  Run();
  Do(AssignmentLeft{"b", 1}, 0);
  EXPECT_THAT(Codes(Do(JobTick{}, 5000)), ElementsAre("RANK_FAILED"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("worker b ended its ranks"));
}

TEST_F(JobMachineTest, ARankThatStopsEarlyFailsTheJob) {
  Run();
  EXPECT_THAT(Codes(Done(1, 7)), ElementsAre("RANK_FAILED"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("step 7 of 20"));
}

TEST_F(JobMachineTest, RanksMustStartAtTheSameStep) {
  Plan();
  for (int32_t rank = 0; rank < 4; ++rank) Listening(rank);
  Ready(0, 10);
  EXPECT_THAT(Codes(Ready(3, 0)), ElementsAre("CHECKPOINT_MISMATCH"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("rank 3 on worker b at step 0"));
}

TEST_F(JobMachineTest, ARankAllocatesWhatThePlanSays) {
  Plan();
  for (int32_t rank = 0; rank < 4; ++rank) Listening(rank);
  v1::RankUpdate update = Update(2);
  update.mutable_ready()->set_arena_bytes(64);
  EXPECT_THAT(Codes(Do(RankSaid{WorkerOf(2), update})), ElementsAre("MEMORY_MISMATCH"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("rank 2 allocated 64 bytes"));
}

TEST_F(JobMachineTest, AFailedPlanFailsTheJobWithItsWords) {
  Do(JobStarts{{"a"}, 2});
  EXPECT_THAT(Codes(Do(JobPlanFailed{InvalidArgument("tp=8 does not divide 12")})),
              ElementsAre("PLAN_FAILED"));
  EXPECT_EQ(machine_.job().reason(), "tp=8 does not divide 12");
}

TEST_F(JobMachineTest, CancelBeforePlacementIsImmediate) {
  EXPECT_THAT(Codes(Do(CancelAsked{""})), ElementsAre("CANCELLED"));
  EXPECT_TRUE(Do(CancelAsked{""}).events.empty());
}

TEST_F(JobMachineTest, CancelWhilePlanningForgetsThePlan) {
  Do(JobStarts{{"a", "b"}, 4});
  EXPECT_THAT(Codes(Do(CancelAsked{"not needed"})), ElementsAre("CANCELLED"));
  EXPECT_TRUE(Do(JobPlanned{{}}).messages.empty());
  EXPECT_FALSE(machine_.placed());
}

TEST_F(JobMachineTest, CancelWaitsForAllWorkersThenKills) {
  Run();
  const JobOutput asked = Do(CancelAsked{"enough"}, 1000);
  EXPECT_THAT(Codes(asked), ElementsAre("CANCEL_REQUESTED"));
  ASSERT_EQ(asked.messages.size(), 2u);
  EXPECT_FALSE(asked.messages[0].message.stop().kill());
  Done(0, 5);
  Failed(2, absl::StatusCode::kAborted, "stopped");
  Do(AssignmentLeft{"a", 1}, 2000);
  EXPECT_EQ(machine_.job().state(), Job::CANCELLING);
  EXPECT_TRUE(Do(JobTick{}, 30999).messages.empty());
  const JobOutput kill = Do(JobTick{}, 31000);
  ASSERT_EQ(kill.messages.size(), 1u);
  EXPECT_EQ(kill.messages[0].worker, "b");
  EXPECT_TRUE(kill.messages[0].message.stop().kill());
  EXPECT_TRUE(Do(JobTick{}, 32000).messages.empty());  // said once
  EXPECT_THAT(Codes(Do(AssignmentLeft{"b", 1}, 33000)), ElementsAre("CANCELLED"));
  EXPECT_EQ(machine_.job().reason(), "enough");
}

TEST_F(JobMachineTest, CancelEndsEvenIfAWorkerNeverAnswers) {
  Run();
  Do(CancelAsked{"enough"}, 0);
  Do(JobTick{}, 40000);
  EXPECT_THAT(Codes(Do(JobTick{}, 90000)), ElementsAre("CANCELLED"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("not all workers have answered"));
}

TEST_F(JobMachineTest, StartHasALimitAndNamesWhoIsMissing) {
  Plan();
  Listening(0);
  EXPECT_TRUE(Do(JobTick{}, 600000).events.empty());
  EXPECT_THAT(Codes(Do(JobTick{}, 600001)), ElementsAre("START_TIMEOUT"));
  EXPECT_THAT(machine_.job().reason(), HasSubstr("rank 1 on a, rank 2 on b, rank 3 on b"));
}

TEST_F(JobMachineTest, AReturningWorkerIsToldAgainWhatShouldBe) {
  Run();
  for (int32_t rank = 0; rank < 4; ++rank) Wrote(rank, 10);
  const JobOutput output = Do(WorkerBack{"a", 1});
  ASSERT_EQ(output.messages.size(), 3u);
  EXPECT_TRUE(output.messages[0].message.has_assign());
  EXPECT_TRUE(output.messages[1].message.has_rendezvous());
  EXPECT_TRUE(output.messages[2].message.has_commit());
  EXPECT_EQ(Do(WorkerBack{"b", 1}).messages.size(), 2u);
  EXPECT_FALSE(machine_.Wants("a", 2));
  Do(CancelAsked{""});
  const JobOutput stop = Do(WorkerBack{"b", 1});
  ASSERT_EQ(stop.messages.size(), 1u);
  EXPECT_TRUE(stop.messages[0].message.has_stop());
}

TEST_F(JobMachineTest, AfterARestartOfTheCoordinatorOnlyQueuedJobsGoOn) {
  JobMachine queued = JobMachine::Restore(machine_.job());
  EXPECT_TRUE(queued.Apply(CoordinatorRestarted{}, At(5)).events.empty());
  Run();
  JobMachine running = JobMachine::Restore(machine_.job());
  EXPECT_FALSE(running.placed());
  EXPECT_THAT(Codes(running.Apply(CoordinatorRestarted{}, At(5))),
              ElementsAre("COORDINATOR_RESTARTED"));
  EXPECT_EQ(running.job().reason(), "coordinator restarted while the job was RUNNING");
}

}  // namespace
}  // namespace trireme
