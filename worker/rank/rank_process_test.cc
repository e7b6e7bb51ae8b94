// The whole life of rank processes over real socket pairs, the test playing the daemon: training,
// stopping, failing, and a daemon that dies.
#include "worker/rank/rank_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "common/formats/test_folder.h"
#include "common/plan/wire.h"
#include "kernels/ops/rule.h"
#include "worker/rank/control.h"
#include "worker/rank/frames.h"
#include "worker/rank/test_job.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// One rank, served by a thread, and the daemon's end of its channel.
class RankUnderTest {
 public:
  RankUnderTest() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    fd_ = fds[0];
    thread_ = std::thread([this, fd = fds[1]] {
      exit_code_ = RunRank(fd);
      ::close(fd);
    });
  }
  ~RankUnderTest() {
    ::shutdown(fd_, SHUT_RDWR);  // a rank that still waits ends
    if (thread_.joinable()) thread_.join();
    ::close(fd_);
  }
  void Send(const v1::RankCommand& command) {
    EXPECT_TRUE(WriteFrame(fd_, command.SerializeAsString()).ok());
  }
  // An event without content when the rank closed its end.
  v1::RankEvent Next() {
    const auto frame = ReadFrame(fd_);
    v1::RankEvent event;
    if (frame.ok() && frame->has_value()) {
      EXPECT_TRUE(event.ParseFromString(**frame));
    }
    return event;
  }
  int Join() {
    thread_.join();
    return exit_code_;
  }

 private:
  int fd_ = -1;
  int exit_code_ = -1;
  std::thread thread_;
};

v1::RankCommand Start(const TestFolder& folder, int64_t data, int64_t steps, int rank) {
  RankProgram program = CountingProgram(data, steps);
  program.op_table_hash = OpTableHash();
  v1::RankCommand command;
  v1::StartRank& start = *command.mutable_start();
  start.set_job("tiny");
  start.set_attempt(3);
  start.set_rank(rank);
  start.set_num_ranks(static_cast<int>(data));
  EXPECT_TRUE(start.mutable_program()->ParseFromString(SerializeRankProgram(program)));
  start.set_token("secret");
  start.set_listen_address("127.0.0.1");
  start.mutable_data()->add_paths(folder.File("text"));
  start.mutable_checkpoint()->set_path(folder.File("ckpt"));
  start.set_call_timeout_s(60);
  return command;
}

v1::RankCommand ConnectTo(const std::vector<std::string>& addresses) {
  v1::RankCommand command;
  for (size_t i = 0; i < addresses.size(); ++i) {
    v1::ConnectPeers::Peer& peer = *command.mutable_connect()->add_peers();
    peer.set_rank(static_cast<int>(i));
    peer.set_address(addresses[i]);
    peer.set_worker("worker-" + std::to_string(i));  // a worker each: TCP
  }
  return command;
}

TEST(RunRank, TwoRanksTrainOverTcpToTheEnd) {
  const TestFolder folder;
  WriteText(folder);
  RankUnderTest ranks[2];
  std::vector<std::string> addresses;
  for (int r : {0, 1}) {
    ranks[r].Send(Start(folder, 2, /*steps=*/3, r));
    addresses.push_back(ranks[r].Next().listening().address());
  }
  for (RankUnderTest& rank : ranks) rank.Send(ConnectTo(addresses));
  for (int r : {0, 1}) {
    const v1::RankEvent ready = ranks[r].Next();
    ASSERT_TRUE(ready.has_ready()) << ready.ShortDebugString();
    EXPECT_EQ(ready.ready().first_step(), 0);
    EXPECT_GT(ready.ready().arena_bytes(), 0);
    for (int step = 1; r == 0 && step <= 3; ++step) {
      const v1::StepMetrics metrics = ranks[r].Next().step();
      EXPECT_EQ(metrics.step(), step);
      EXPECT_EQ(metrics.loss(), 2.0);
      EXPECT_EQ(metrics.tokens(), 32.0);
      EXPECT_EQ(metrics.learning_rate(), 0.5);
      EXPECT_GT(metrics.tokens_per_second(), 0);
    }
    const v1::RankEvent checkpoint = ranks[r].Next();
    EXPECT_EQ(checkpoint.checkpoint().step(), 3);
    EXPECT_EQ(checkpoint.checkpoint().folder(), folder.File("ckpt/step-0000003"));
    EXPECT_EQ(ranks[r].Next().done().step(), 3);
  }
  for (RankUnderTest& rank : ranks) EXPECT_EQ(rank.Join(), 0);
}

TEST(RunRank, StopsBetweenSteps) {
  const TestFolder folder;
  WriteText(folder);
  RankUnderTest rank;
  rank.Send(Start(folder, 1, /*steps=*/1000000, 0));
  rank.Send(ConnectTo({rank.Next().listening().address()}));
  ASSERT_TRUE(rank.Next().has_ready());
  ASSERT_TRUE(rank.Next().has_step());
  v1::RankCommand stop;
  stop.mutable_stop();
  rank.Send(stop);
  int64_t steps = 1;
  v1::RankEvent event = rank.Next();
  for (; event.has_step(); event = rank.Next()) ++steps;
  EXPECT_EQ(event.done().step(), steps);
  EXPECT_EQ(rank.Join(), 0);
}

TEST(RunRank, FailureNamesTheCause) {
  const TestFolder folder;  // without the text
  RankUnderTest rank;
  rank.Send(Start(folder, 1, 3, 0));
  rank.Send(ConnectTo({rank.Next().listening().address()}));
  const v1::RankEvent event = rank.Next();
  EXPECT_THAT(event.failed().message(), HasSubstr(folder.File("text")));
  EXPECT_NE(event.failed().code(), 0);
  EXPECT_EQ(rank.Join(), 1);
}

TEST(RunRank, RefusesAProgramOfAnotherBuild) {
  const TestFolder folder;
  RankUnderTest rank;
  v1::RankCommand start = Start(folder, 1, 3, 0);
  start.mutable_start()->mutable_program()->set_op_table_hash(1);
  rank.Send(start);
  EXPECT_THAT(rank.Next().failed().message(), HasSubstr("op table 0000000000000001"));
  EXPECT_EQ(rank.Join(), 1);
}

// Trains for long; the daemon's end closes once the rank is ready.
void RunUntilTheDaemonIsGone() {
  const TestFolder folder;
  WriteText(folder);
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) ::_exit(9);
  std::thread daemon([&] {
    const auto send = [&](const v1::RankCommand& command) {
      if (!WriteFrame(fds[0], command.SerializeAsString()).ok()) ::_exit(9);
    };
    send(Start(folder, 1, /*steps=*/1000000, 0));
    v1::RankEvent listening;
    listening.ParseFromString(ReadFrame(fds[0])->value());
    send(ConnectTo({listening.listening().address()}));
    if (!ReadFrame(fds[0]).ok()) ::_exit(9);  // ready
    ::close(fds[0]);
  });
  const int code = RunRank(fds[1]);
  daemon.join();
  ::_exit(code);
}

TEST(RunRankDeathTest, EndsWithItsDaemon) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunUntilTheDaemonIsGone(), ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace trireme
