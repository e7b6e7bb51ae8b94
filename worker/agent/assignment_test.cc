// Two ranks of a job of four on this worker: the good path, every kind of death, and stopping,
// under virtual time.
#include "worker/agent/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace trireme {
namespace {

using ::testing::HasSubstr;
using v1::RankBeat;

template <typename T>
std::vector<T> Only(const AgentActions& actions) {
  std::vector<T> found;
  for (const AgentAction& action : actions) {
    if (const T* match = std::get_if<T>(&action)) found.push_back(*match);
  }
  return found;
}

// What the coordinator is told, as one word each.
std::vector<std::string> Told(const AgentActions& actions) {
  std::vector<std::string> words;
  for (const TellCoordinator& tell : Only<TellCoordinator>(actions)) {
    const v1::WorkerUp& up = tell.message;
    if (up.has_ended()) {
      words.push_back("ended");
      continue;
    }
    const std::string kinds[] = {"",     "",           "",       "",     "listening", "ready",
                                 "step", "checkpoint", "failed", "done", "log"};
    words.push_back(std::to_string(up.rank().rank()) + " " + kinds[up.rank().update_case()]);
  }
  return words;
}

using Words = std::vector<std::string>;

class AssignmentTest : public ::testing::Test {
 protected:
  AssignmentTest() : assignment_(Assign(), Options()) {}

  static v1::Assign Assign() {
    v1::Assign assign;
    assign.set_job("jobs/t-1");
    assign.set_attempt(2);
    assign.set_token("secret");
    assign.set_num_ranks(4);
    assign.mutable_network()->mutable_dcn()->set_mbit_per_s(100);
    assign.mutable_trace()->set_path("/trace");
    for (int32_t rank : {3, 1}) {
      v1::RankAssignment& to = *assign.add_ranks();
      to.set_rank(rank);
      to.set_program_sha256("p");
    }
    return assign;
  }
  static AssignmentOptions Options() {
    AssignmentOptions options;
    options.flight_folder = "/f";
    options.term_ms = 1000;
    options.kill_ms = 100;
    return options;
  }

  AgentActions Say(int32_t rank, const std::function<void(v1::RankEvent&)>& fill,
                   int64_t now_ms = 0) {
    v1::RankEvent event;
    fill(event);
    return assignment_.RankSaid(rank, event, now_ms);
  }
  void Start() {
    assignment_.Begin();
    assignment_.ProgramFetched("p", "", 0);
    for (int32_t rank : {1, 3}) {
      Say(rank, [](auto& event) { event.mutable_listening()->set_address("x"); });
      Say(rank, [](auto& event) { event.mutable_ready(); });
    }
  }

  Assignment assignment_;
};

TEST_F(AssignmentTest, FetchesOnceAndStartsRanksWithTheirPlace) {
  ASSERT_EQ(Only<FetchProgram>(assignment_.Begin()).size(), 1u);
  const auto starts = Only<StartRankProcess>(assignment_.ProgramFetched("p", "", 0));
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[1].rank, 3);
  EXPECT_EQ(starts[1].start.local_index(), 1);
  EXPECT_EQ(starts[1].start.num_local(), 2);
  EXPECT_EQ(starts[1].start.num_ranks(), 4);
  EXPECT_EQ(starts[1].start.token(), "secret");
  EXPECT_EQ(starts[1].start.network().dcn().mbit_per_s(), 100);
  EXPECT_EQ(starts[1].start.trace().path(), "/trace");
  EXPECT_EQ(starts[1].start.flight_recorder(), "/f/jobs_t-1.2.rank-3.flight");
  EXPECT_TRUE(assignment_.ProgramFetched("p", "", 0).empty());
}

TEST_F(AssignmentTest, ConnectsOnceAndReportsUntilTheEnd) {
  Start();
  v1::Rendezvous rendezvous;
  rendezvous.add_peers();
  EXPECT_EQ(Only<TellRank>(assignment_.Rendezvous(rendezvous)).size(), 2u);
  EXPECT_TRUE(assignment_.Rendezvous(rendezvous).empty());
  EXPECT_EQ(Told(Say(1, [](auto& event) { event.mutable_step()->set_step(7); })), Words{"1 step"});
  EXPECT_EQ(assignment_.Beats()[0].step(), 7);
  EXPECT_EQ(assignment_.Beats()[0].state(), RankBeat::READY);
  Say(1, [](auto& event) { event.mutable_done()->set_step(9); });
  Say(3, [](auto& event) { event.mutable_done()->set_step(9); });
  EXPECT_EQ(Told(assignment_.RankExited(1, "exited with code 0", 1)), Words{});
  EXPECT_FALSE(assignment_.ended());
  EXPECT_EQ(Told(assignment_.RankExited(3, "exited with code 0", 1)), Words{"ended"});
  EXPECT_TRUE(assignment_.ended());
}

TEST_F(AssignmentTest, RepeatsStickyFactsButNoMeasurements) {
  Start();
  Say(1, [](auto& event) { event.mutable_step(); });
  Say(3, [](auto& event) { event.mutable_checkpoint()->set_step(4); });
  Say(3, [](auto& event) { event.mutable_checkpoint()->set_step(8); });
  const AgentActions repeated = assignment_.Repeat();
  EXPECT_EQ(Told(repeated),
            (Words{"1 listening", "1 ready", "3 listening", "3 ready", "3 checkpoint"}));
  EXPECT_EQ(Only<TellCoordinator>(repeated)[4].message.rank().checkpoint().step(), 8);
}

TEST_F(AssignmentTest, ADeathWithoutAWordIsReportedWithItsCauseAndEndsTheOthers) {
  Start();
  assignment_.RankWrote(3, "CHECK failed: x");
  const AgentActions actions = assignment_.RankExited(3, "was killed by signal 6", 1000);
  EXPECT_EQ(Told(actions), Words{"3 failed"});
  const v1::RankFailed failed = Only<TellCoordinator>(actions)[0].message.rank().failed();
  EXPECT_EQ(failed.code(), static_cast<int>(absl::StatusCode::kInternal));
  EXPECT_EQ(failed.message(), "its process was killed by signal 6; last lines: CHECK failed: x");
  ASSERT_EQ(Only<AbortLocalRanks>(actions).size(), 1u);
  EXPECT_THAT(Only<AbortLocalRanks>(actions)[0].reason,
              HasSubstr("rank 3: its process was killed"));
  EXPECT_TRUE(assignment_.Tick(1099).empty());
  const auto kills = Only<SignalRank>(assignment_.Tick(1100));
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].rank, 1);
  EXPECT_EQ(kills[0].signal, SIGKILL);
  // Its neighbour dies because of it and must not look like a cause.
  const AgentActions after = assignment_.RankExited(1, "was killed by signal 9", 1101);
  EXPECT_EQ(Told(after), (Words{"1 failed", "ended"}));
  EXPECT_EQ(Only<TellCoordinator>(after)[0].message.rank().failed().code(),
            static_cast<int>(absl::StatusCode::kAborted));
}

TEST_F(AssignmentTest, ADeathIsACauseEvenIfItsVictimIsHeardFirst) {
  Start();
  Say(1, [](auto& event) {
    event.mutable_failed()->set_code(static_cast<int>(absl::StatusCode::kAborted));
  });
  const AgentActions actions = assignment_.RankExited(3, "was killed by signal 9", 1);
  ASSERT_EQ(Told(actions), Words{"3 failed"});
  EXPECT_EQ(Only<TellCoordinator>(actions)[0].message.rank().failed().code(),
            static_cast<int>(absl::StatusCode::kInternal));
}

TEST_F(AssignmentTest, AFailureThatTheRankReportsIsNotReportedTwice) {
  Start();
  const AgentActions said =
      Say(1, [](auto& event) { event.mutable_failed()->set_message("disk full"); });
  EXPECT_EQ(Told(said), Words{"1 failed"});
  EXPECT_EQ(Only<AbortLocalRanks>(said).size(), 1u);
  EXPECT_EQ(Told(assignment_.RankExited(1, "exited with code 1", 1)), Words{});
}

TEST_F(AssignmentTest, AProgramThatCannotBeFetchedFailsTheRank) {
  assignment_.Begin();
  const AgentActions actions = assignment_.ProgramFailed("p", Unavailable("no route"), 0);
  EXPECT_EQ(Told(actions), (Words{"1 failed", "ended"}));
  EXPECT_THAT(Only<TellCoordinator>(actions)[0].message.rank().failed().message(),
              HasSubstr("no route"));
  EXPECT_TRUE(assignment_.ended());
}

TEST_F(AssignmentTest, StopAsksThenTermsThenKills) {
  Start();
  const AgentActions stop = assignment_.Stop(/*kill=*/false, 0);
  ASSERT_EQ(Only<TellRank>(stop).size(), 2u);
  EXPECT_TRUE(Only<TellRank>(stop)[0].command.has_stop());
  EXPECT_TRUE(assignment_.Stop(/*kill=*/false, 500).empty());  // said once
  EXPECT_TRUE(assignment_.Tick(999).empty());
  EXPECT_EQ(Only<SignalRank>(assignment_.Tick(1000))[0].signal, SIGTERM);
  EXPECT_EQ(Only<SignalRank>(assignment_.Tick(1100))[0].signal, SIGKILL);
  EXPECT_EQ(Told(assignment_.RankExited(1, "was killed by signal 9", 1101)), Words{});
  EXPECT_EQ(Told(assignment_.RankExited(3, "was killed by signal 9", 1101)), Words{"ended"});
}

TEST_F(AssignmentTest, AKillDoesNotWaitForTheStep) {
  Start();
  assignment_.Stop(/*kill=*/false, 0);
  const auto terms = Only<SignalRank>(assignment_.Stop(/*kill=*/true, 10));
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_EQ(terms[0].signal, SIGTERM);
  EXPECT_EQ(Only<SignalRank>(assignment_.Tick(110))[0].signal, SIGKILL);
}

TEST_F(AssignmentTest, StopBeforeTheStartLeavesNothingToDo) {
  assignment_.Begin();
  EXPECT_EQ(Told(assignment_.Stop(/*kill=*/false, 0)), Words{"ended"});
  EXPECT_TRUE(assignment_.ProgramFetched("p", "", 1).empty());
}

TEST_F(AssignmentTest, ARankThatDoesNotExitAfterItsLastWordIsKilled) {
  Start();
  Say(
      1, [](auto& event) { event.mutable_done()->set_step(9); }, 50);
  EXPECT_TRUE(assignment_.Tick(149).empty());
  EXPECT_EQ(Only<SignalRank>(assignment_.Tick(150))[0].rank, 1);
}

}  // namespace
}  // namespace trireme
