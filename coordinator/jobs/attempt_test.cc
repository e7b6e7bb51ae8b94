// What an attempt knows of its ranks, in the cases that job_machine_test does not reach.
#include "coordinator/jobs/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Attempt TenRanksOn(const std::vector<std::string>& workers) {
  AttemptPlan plan;
  for (int32_t rank = 0; rank < 10; ++rank) {
    plan.ranks.push_back({workers[rank % workers.size()], rank, "p"});
  }
  return Attempt("jobs/t-1", 1, plan);
}

v1::CheckpointWritten Written(int64_t step, const std::string& folder) {
  v1::CheckpointWritten written;
  written.set_step(step);
  written.set_folder(folder);
  return written;
}

TEST(Attempt, KnowsItsWorkersInRankOrder) {
  const Attempt attempt = TenRanksOn({"z", "b"});
  EXPECT_THAT(attempt.workers(), ElementsAre("z", "b"));
  EXPECT_TRUE(attempt.Owns("b", 1));
  EXPECT_FALSE(attempt.Owns("b", 0));
  EXPECT_FALSE(attempt.Owns("b", -1));
  EXPECT_FALSE(attempt.Owns("b", 10));
}

TEST(Attempt, TellsWorkersTheNetworkTheTraceAndTheSlices) {
  AttemptPlan plan;
  plan.ranks = {{"a", 0, "p", 0, 0}, {"b", 0, "p", 0, 1}};
  plan.network.mutable_dcn()->set_mbit_per_s(100);
  plan.trace.set_path("/trace");
  Attempt attempt("jobs/t-1", 1, plan);
  attempt.SetListening(0, "x");
  attempt.SetListening(1, "y");
  const WorkerMessage assigned = attempt.AssignMessage("b");
  EXPECT_EQ(assigned.message.assign().network().dcn().mbit_per_s(), 100);
  EXPECT_EQ(assigned.message.assign().trace().path(), "/trace");
  const WorkerMessage met = attempt.RendezvousMessage("a");
  EXPECT_EQ(met.message.rendezvous().peers(0).slice(), 0);
  EXPECT_EQ(met.message.rendezvous().peers(1).slice(), 1);
}

TEST(Attempt, NamesAtMostEightMissingRanks) {
  Attempt attempt = TenRanksOn({"a"});
  EXPECT_THAT(attempt.NotListening(), HasSubstr("rank 7 on a and 2 more"));
  attempt.SetListening(0, "x");
  attempt.SetListening(0, "x");
  EXPECT_THAT(attempt.NotListening(), HasSubstr("rank 1 on a"));
  EXPECT_FALSE(attempt.AllListening());
}

TEST(Attempt, RefusesPiecesOfOneStepInTwoFolders) {
  Attempt attempt = TenRanksOn({"a"});
  std::string problem;
  attempt.AddCheckpoint(0, Written(5, "/x"), problem);
  EXPECT_EQ(problem, "");
  attempt.AddCheckpoint(1, Written(5, "/y"), problem);
  EXPECT_THAT(problem, HasSubstr("different folders, /x and /y (rank 1)"));
}

TEST(Attempt, KeepsUnansweredCommitsApart) {
  Attempt attempt = TenRanksOn({"a"});
  std::string problem;
  for (int64_t step : {5, 6}) {
    for (int32_t rank = 0; rank < 10; ++rank) {
      attempt.AddCheckpoint(rank, Written(step, "/x" + std::to_string(step)), problem);
    }
  }
  EXPECT_EQ(attempt.PendingCommitMessages().size(), 2u);
  attempt.CommitAnswered(5);
  ASSERT_EQ(attempt.PendingCommitMessages().size(), 1u);
  EXPECT_EQ(attempt.PendingCommitMessages()[0].message.commit().step(), 6);
}

}  // namespace
}  // namespace trireme
