// Who may join: the ranks of this attempt with its token, whatever else knocks at the port.
#include "worker/comm/bootstrap.h"

#include <unistd.h>

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/hello.h"
#include "worker/comm/local_group.h"

namespace trireme {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::string Text(const Status& status) { return std::string(ToStd(status.message())); }

// Rank 0 waits on its own thread; callers come one after the other; in the end the right one is let
// in.
class Door : public ::testing::Test {
 protected:
  void SetUp() override {
    auto group = LocalGroup::Create(2, Transport::kTcp, {.attempt = 4});
    ASSERT_TRUE(group.ok()) << group.status();
    group_ = *std::move(group);
    rank0_ = std::thread([this] {
      auto comm = Connect(group_->OptionsOf(0));
      result0_ = comm.ok() ? (*comm)->Barrier({0, {0, 1}}) : comm.status();
    });
  }
  void TearDown() override {
    auto comm = Connect(group_->OptionsOf(1));
    ASSERT_TRUE(comm.ok()) << comm.status();
    EXPECT_TRUE((*comm)->Barrier({0, {0, 1}}).ok());
    rank0_.join();
    EXPECT_TRUE(result0_.ok()) << result0_;
  }

  std::unique_ptr<LocalGroup> group_;
  std::thread rank0_;
  Status result0_;
};

TEST_F(Door, AnOlderAttemptIsRefusedWithBothNumbers) {
  CommunicatorOptions old = group_->OptionsOf(1);
  old.attempt = 3;
  const Status status = Connect(old).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), HasSubstr("rank 1 is of attempt 3, rank 0 of attempt 4"));
}

TEST_F(Door, AWrongTokenIsRefusedAndToldNothing) {
  CommunicatorOptions stranger = group_->OptionsOf(1);
  stranger.token = "guessed";
  stranger.attempt = 3;
  const Status status = Connect(stranger).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), HasSubstr("wrong token"));
  EXPECT_THAT(Text(status), ::testing::Not(HasSubstr("attempt 4")));
}

TEST_F(Door, NoiseAndSilentCallersDoNotKeepRanksOut) {
  const Deadline deadline = std::chrono::steady_clock::now() + milliseconds(30000);
  const std::string address = group_->OptionsOf(0).peers[0].address;
  const auto silent = Dial(address, deadline);
  ASSERT_TRUE(silent.ok());
  const auto noisy = Dial(address, deadline);
  ASSERT_TRUE(noisy.ok());
  const std::string noise(sizeof(Hello), '?');
  ASSERT_TRUE(SendAll(noisy->get(), noise.data(), noise.size(), deadline).ok());
  HelloReply reply;
  ASSERT_TRUE(RecvAll(noisy->get(), &reply, sizeof(reply), deadline).ok());
  EXPECT_THAT(Text(CheckReply(reply)), HasSubstr("no rank of this version"));
}

TEST(Connect, LateRanksAreNamed) {
  auto group = LocalGroup::Create(3, Transport::kTcp, {.connect_deadline = milliseconds(100)});
  ASSERT_TRUE(group.ok());
  const Status status = Connect((*group)->OptionsOf(0)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(status), HasSubstr("rank 0 waited 100 ms for ranks 1,2 to connect"));
}

TEST(Connect, AnUnreachableRankIsNamedWithItsAddress) {
  auto group = LocalGroup::Create(2, Transport::kTcp, {.connect_deadline = milliseconds(50)});
  ASSERT_TRUE(group.ok());
  CommunicatorOptions options = (*group)->OptionsOf(1);
  {
    auto closed = Listener::Bind();  // a port where nobody listens any more
    ASSERT_TRUE(closed.ok());
    options.peers[0].address = closed->address();
  }
  const Status status = Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), HasSubstr("rank 1 calling rank 0 at " + options.peers[0].address));
}

TEST(Connect, ASegmentOfAnotherAttemptIsRefused) {
  auto group = LocalGroup::Create(2, Transport::kShm, {.attempt = 4});
  ASSERT_TRUE(group.ok());
  CommunicatorOptions options = (*group)->OptionsOf(1);
  options.attempt = 3;
  const Status status = Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), HasSubstr("belongs to attempt 4, this rank to attempt 3"));
}

TEST(Connect, TheSegmentMayComeByPath) {
  auto group = LocalGroup::Create(2, Transport::kShm);
  ASSERT_TRUE(group.ok());
  CommunicatorOptions options = (*group)->OptionsOf(1);
  options.shared_path = "/proc/self/fd/" + std::to_string(options.shared_fd);
  options.shared_fd = -1;
  EXPECT_TRUE(Connect(options).ok()) << Connect(options).status();
}

TEST(Connect, WrongOptionsSayWhatIsMissing) {
  auto group = LocalGroup::Create(2, Transport::kShm);
  ASSERT_TRUE(group.ok());
  CommunicatorOptions options = (*group)->OptionsOf(1);
  options.shared_fd = -1;
  EXPECT_THAT(Text(Connect(options).status()), HasSubstr("set shared_fd or shared_path"));
  options.rank = 2;
  EXPECT_THAT(Text(Connect(options).status()), HasSubstr("rank 2 of 2 peers"));
  options.rank = 0;
  options.token.assign(kMaxTokenBytes + 1, 'x');
  EXPECT_THAT(Text(Connect(options).status()), HasSubstr("token"));
  options = (*group)->OptionsOf(0);
  options.peers[1].worker = "another";
  options.listener = nullptr;
  EXPECT_THAT(Text(Connect(options).status()), HasSubstr("set listener"));
}

}  // namespace
}  // namespace trireme
