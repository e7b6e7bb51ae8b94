// How calls end when something is wrong: a rank that never comes, an abort, a dead peer, different
// calls. A latch keeps the ranks alive until all have their answer, so that no answer depends on
// who is faster.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/cpu_communicator.h"
#include "worker/comm/local_group.h"

namespace trireme {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

std::string Text(const Status& status) { return std::string(ToStd(status.message())); }

GroupRanks World3(int32_t id = 3) { return {id, {0, 1, 2}}; }

Status Sum(Communicator& comm, const GroupRanks& group, int64_t count) {
  std::vector<float> data(count, 1.0f);
  return comm.AllReduce(group, DType::kFloat32, ReduceKind::kSum, {data.data(), count});
}

Status Gather(Communicator& comm, const GroupRanks& group, int64_t count) {
  std::vector<float> in(count, 1.0f);
  std::vector<float> out(count * static_cast<int64_t>(group.ranks.size()));
  return comm.AllGather(group, DType::kFloat32, {in.data(), count},
                        {out.data(), static_cast<int64_t>(out.size())});
}

class Failures : public ::testing::TestWithParam<Transport> {};

TEST_P(Failures, DeadlineNamesTheRankThatDidNotCome) {
  for (const int64_t count : {10, 100000}) {
    std::latch answered(3);
    const auto results = RunRanks(3, GetParam(),
                                  [&](Communicator& comm) -> Status {
                                    RETURN_IF_ERROR(comm.Barrier(World3()));
                                    const Status status =
                                        comm.rank() == 2 ? Status() : Sum(comm, World3(), count);
                                    answered.arrive_and_wait();
                                    return status;
                                  },
                                  {.call_deadline = milliseconds(300)});
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(results[i].code(), absl::StatusCode::kDeadlineExceeded) << results[i];
      EXPECT_EQ(Text(results[i]), "waiting for rank 2 in all_reduce #1 of group 3 for 0.3 s");
    }
    EXPECT_TRUE(results[2].ok());
  }
}

TEST_P(Failures, DeadlineNamesAllMissingRanksAndStays) {
  std::latch answered(3);
  const auto results =
      RunRanks(3, GetParam(),
               [&](Communicator& comm) -> Status {
                 RETURN_IF_ERROR(comm.Barrier(World3()));
                 Status status;
                 if (comm.rank() == 0) {
                   status = Gather(comm, World3(), 10);
                   const Status later = comm.Barrier(World3());
                   EXPECT_EQ(later.code(), absl::StatusCode::kDeadlineExceeded);
                   EXPECT_THAT(Text(later), HasSubstr("an earlier call failed: waiting for"));
                 }
                 answered.arrive_and_wait();
                 return status;
               },
               {.call_deadline = milliseconds(200)});
  EXPECT_EQ(Text(results[0]), "waiting for ranks 1,2 in all_gather #1 of group 3 for 0.2 s");
}

// Rank 2 does not take part, so ranks 0 and 1 wait for ever unless the abort of rank 0's other
// thread ends it.
TEST_P(Failures, AbortFromAnotherThreadEndsTheCallsOfAllRanks) {
  // All have left the barrier before the abort: it would end the barrier too.
  std::latch begun(3), answered(2);
  const auto results = RunRanks(3, GetParam(), [&](Communicator& comm) -> Status {
    RETURN_IF_ERROR(comm.Barrier(World3()));
    begun.count_down();
    if (comm.rank() == 2) {
      answered.wait();
      return comm.Barrier(World3());
    }
    std::thread aborter;
    if (comm.rank() == 0) {
      aborter = std::thread([&] {
        begun.wait();
        comm.Abort("the job was cancelled");
      });
    }
    const Status status = Sum(comm, World3(), 100000);
    if (aborter.joinable()) aborter.join();
    answered.arrive_and_wait();
    return status;
  });
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_THAT(Text(status), HasSubstr("rank 0 aborted: the job was cancelled"));
  }
}

TEST_P(Failures, AClosedPeerIsNamed) {
  std::latch answered(2);
  const auto results = RunRanks(3, GetParam(), [&](Communicator& comm) -> Status {
    RETURN_IF_ERROR(comm.Barrier(World3()));
    if (comm.rank() == 2) return {};  // closes its communicator
    const Status status = Sum(comm, World3(), 10);
    answered.arrive_and_wait();
    return status;
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(results[i].code(), absl::StatusCode::kUnavailable) << results[i];
    EXPECT_THAT(Text(results[i]), HasSubstr("rank 2"));
    EXPECT_THAT(Text(results[i]), HasSubstr("all_reduce #1 of group 3"));
  }
}

// Both sides learn both calls, whoever notices first.
void ExpectBothNamed(const std::vector<Status>& results, const std::string& a,
                     const std::string& b) {
  bool noticed = false;
  for (const Status& status : results) {
    EXPECT_THAT(status.code(),
                AnyOf(Eq(absl::StatusCode::kInternal), Eq(absl::StatusCode::kAborted)));
    noticed |= status.code() == absl::StatusCode::kInternal;
    EXPECT_THAT(Text(status), HasSubstr(a));
    EXPECT_THAT(Text(status), HasSubstr(b));
  }
  EXPECT_TRUE(noticed);
}

TEST_P(Failures, DifferentCallsAreBothNamed) {
  const GroupRanks pair{3, {0, 1}};
  std::latch other_op(2);
  ExpectBothNamed(RunRanks(2, GetParam(),
                           [&](Communicator& comm) -> Status {
                             RETURN_IF_ERROR(comm.Barrier(pair));
                             const Status status = comm.rank() == 0 ? Gather(comm, pair, 1024)
                                                                    : Sum(comm, pair, 1024);
                             other_op.arrive_and_wait();
                             return status;
                           }),
                  "all_gather #1 of group 3 (4096 bytes, float32)",
                  "all_reduce #1 of group 3 (4096 bytes, sum float32)");
  std::latch other_size(2);
  ExpectBothNamed(RunRanks(2, GetParam(),
                           [&](Communicator& comm) -> Status {
                             const Status status = Sum(comm, pair, 100000 + comm.rank());
                             other_size.arrive_and_wait();
                             return status;
                           }),
                  "(400000 bytes, sum float32)", "(400004 bytes, sum float32)");
  std::latch other_tag(2);
  ExpectBothNamed(RunRanks(2, GetParam(),
                           [&](Communicator& comm) -> Status {
                             float out = 0, in = 0;
                             const int32_t peer = 1 - comm.rank();
                             const int32_t send_tag = comm.rank() == 0 ? 5 : 6;
                             const Status status = comm.Exchange({{peer, send_tag, &out, 4}},
                                                                 {{peer, send_tag, &in, 4}});
                             other_tag.arrive_and_wait();
                             return status;
                           }),
                  "exchange #0 tag 5", "exchange #0 tag 6");
}

INSTANTIATE_TEST_SUITE_P(All, Failures,
                         ::testing::Values(Transport::kShm, Transport::kTcp, Transport::kMixed),
                         [](const auto& info) { return std::string(Name(info.param)); });

// The daemon's part: rank 1's process is killed, the daemon notices and says so in the segment;
// rank 0 is told.
TEST(Failures, TheDaemonSpeaksForAKilledRank) {
  auto group = LocalGroup::Create(2, Transport::kShm);
  ASSERT_TRUE(group.ok()) << group.status();
  const pid_t victim = fork();
  ASSERT_GE(victim, 0);
  if (victim == 0) {
    auto comm = Connect((*group)->OptionsOf(1));
    kill(getpid(), SIGKILL);
    _exit(0);
  }
  const pid_t survivor = fork();
  ASSERT_GE(survivor, 0);
  if (survivor == 0) {
    auto comm = Connect((*group)->OptionsOf(0));
    if (!comm.ok()) _exit(1);
    const Status status = (*comm)->Barrier({0, {0, 1}});
    if (status.code() != absl::StatusCode::kUnavailable) _exit(2);
    _exit(Text(status).find("rank 1 is gone: killed by signal 9") != std::string::npos ? 0 : 3);
  }
  int state = 0;
  ASSERT_EQ(waitpid(victim, &state, 0), victim);
  ASSERT_TRUE(WIFSIGNALED(state));
  (*group)->segment_of(0)->Abort(AbortKind::kGone, 1, "killed by signal 9");
  ASSERT_EQ(waitpid(survivor, &state, 0), survivor);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
}

// Over TCP nobody needs to speak: the kernel closes the sockets of a killed process.
TEST(Failures, AKilledProcessIsNoticedOverTcp) {
  auto group = LocalGroup::Create(2, Transport::kTcp);
  ASSERT_TRUE(group.ok()) << group.status();
  const pid_t victim = fork();
  ASSERT_GE(victim, 0);
  if (victim == 0) {
    auto comm = Connect((*group)->OptionsOf(1));
    kill(getpid(), SIGKILL);
    _exit(0);
  }
  auto comm = Connect((*group)->OptionsOf(0));
  ASSERT_TRUE(comm.ok()) << comm.status();
  const Status status = (*comm)->Barrier({0, {0, 1}});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(Text(status), HasSubstr("rank 1"));
  int state = 0;
  ASSERT_EQ(waitpid(victim, &state, 0), victim);
}

}  // namespace
}  // namespace trireme
