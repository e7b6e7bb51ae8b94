// Bytes on the wire equal the closed forms, and links with a limit are never faster than it. Lower
// bounds of time only, because test machines may be slow; where something must end early, the
// alternative would take ten seconds.
#include <time.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/blocks.h"
#include "worker/comm/cpu_communicator.h"
#include "worker/comm/local_group.h"

namespace trireme {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

GroupRanks World(int32_t size) {
  GroupRanks group{0, std::vector<int32_t>(size)};
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

void ExpectAllOk(const std::vector<Status>& results) {
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(results[i].ok()) << i << " " << results[i];
}

// Payload one call adds to bytes_sent, both fabrics together.
template <typename Call>
StatusOr<int64_t> BytesOf(const Communicator& comm, Call call) {
  const CommBytes before = comm.bytes_sent();
  RETURN_IF_ERROR(call());
  const CommBytes after = comm.bytes_sent();
  return after.ici + after.dcn - before.ici - before.dcn;
}

class RingBytes : public ::testing::TestWithParam<std::tuple<Transport, int32_t>> {};

// With counts that divide: (n-1)/n of the tensor for reduce_scatter and all_gather, twice that for
// all_reduce. Otherwise all_reduce leaves out this member's block once and the next one's once.
TEST_P(RingBytes, EqualTheClosedForms) {
  const auto [transport, n] = GetParam();
  ExpectAllOk(RunRanks(n, transport, [n = n](Communicator& comm) -> Status {
    const GroupRanks world = World(n);
    const int64_t block = 20011;
    std::vector<float> in(block, 1.0f), all(n * block, 1.0f), out(block);
    ASSIGN_OR_RETURN(const int64_t scatter, BytesOf(comm, [&] {
                       return comm.ReduceScatter(world, DType::kFloat32, ReduceKind::kSum,
                                                 {all.data(), n * block}, {out.data(), block});
                     }));
    EXPECT_EQ(scatter, (n - 1) * block * 4);
    ASSIGN_OR_RETURN(const int64_t gather, BytesOf(comm, [&] {
                       return comm.AllGather(world, DType::kFloat32, {in.data(), block},
                                             {all.data(), n * block});
                     }));
    EXPECT_EQ(gather, (n - 1) * block * 4);
    for (const int64_t count : {n * block, n * block - 1, n * block - n + 1}) {
      ASSIGN_OR_RETURN(
          const int64_t reduce, BytesOf(comm, [&] {
            return comm.AllReduce(world, DType::kFloat32, ReduceKind::kSum, {all.data(), count});
          }));
      const int64_t mine = BlockOf(count, n, comm.rank()).count;
      const int64_t next = BlockOf(count, n, (comm.rank() + 1) % n).count;
      EXPECT_EQ(reduce, (2 * count - mine - next) * 4) << count;
    }
    return {};
  }));
}

INSTANTIATE_TEST_SUITE_P(All, RingBytes,
                         ::testing::Combine(::testing::Values(Transport::kTcp, Transport::kMixed),
                                            ::testing::Values(2, 3, 4, 7)),
                         [](const auto& info) {
                           return std::string(Name(std::get<0>(info.param))) +
                                  std::to_string(std::get<1>(info.param));
                         });

// Ranks 0, 1 and ranks 2, 3 are a slice each: of the ring's links, 1 -> 2 and 3 -> 0 are DCN.
TEST(CommBytes, AreSplitByFabric) {
  ExpectAllOk(
      RunRanks(4, Transport::kMixed,
               [](Communicator& comm) -> Status {
                 std::vector<float> data(40000, 1.0f);
                 RETURN_IF_ERROR(comm.AllReduce(World(4), DType::kFloat32, ReduceKind::kSum,
                                                {data.data(), 40000}));
                 const int64_t bytes = 2 * 3 * 10000 * 4;
                 const bool dcn = comm.rank() % 2 == 1;
                 EXPECT_EQ(comm.bytes_sent(), (dcn ? CommBytes{0, bytes} : CommBytes{bytes, 0}));
                 return {};
               },
               {.slices = {0, 0, 1, 1}}));
}

// Sends `bytes` from each rank of `from` to the rank after it; the seconds until all have arrived.
double TimeSends(int32_t size, Transport transport, const std::vector<int32_t>& from, int64_t bytes,
                 const LocalGroupOptions& options) {
  std::mutex mutex;
  Clock::time_point begin = Clock::time_point::max(), end = Clock::time_point::min();
  ExpectAllOk(RunRanks(
      size, transport,
      [&](Communicator& comm) -> Status {
        RETURN_IF_ERROR(comm.Barrier(World(size)));
        std::vector<char> data(bytes);
        for (const int32_t sender : from) {
          const auto start = Clock::now();
          if (comm.rank() == sender) {
            RETURN_IF_ERROR(comm.Exchange({{sender + 1, 0, data.data(), bytes}}, {}));
          } else if (comm.rank() == sender + 1) {
            RETURN_IF_ERROR(comm.Exchange({}, {{sender, 0, data.data(), bytes}}));
          } else {
            continue;
          }
          const std::lock_guard<std::mutex> lock(mutex);
          if (comm.rank() == sender) begin = std::min(begin, start);
          if (comm.rank() != sender) end = std::max(end, Clock::now());
        }
        return {};
      },
      options));
  return Seconds(end - begin);
}

TEST(Limits, ATransferIsNeverFasterThanTheLink) {
  EXPECT_GE(TimeSends(2, Transport::kTcp, {0}, 250000, {.ici = {.bytes_per_s = 10e6}}), 0.025);
}

TEST(Limits, DcnLimitsHoldBetweenSlicesOnly) {
  const LocalGroupOptions options = {.slices = {0, 1}, .dcn = {.bytes_per_s = 10e6}};
  EXPECT_GE(TimeSends(2, Transport::kTcp, {0}, 250000, options), 0.025);
  // In one slice it would take ten seconds at the limit for DCN.
  const LocalGroupOptions same = {.slices = {5, 5}, .dcn = {.bytes_per_s = 25e3}};
  EXPECT_LT(TimeSends(2, Transport::kTcp, {0}, 250000, same), 5);
}

// Ranks 0 and 2 of one worker send to ranks 1 and 3 of the other at the same time.
TEST(Limits, RanksOfAWorkerShareTheLink) {
  EXPECT_GE(TimeSends(4, Transport::kMixed, {0, 2}, 200000, {.ici = {.bytes_per_s = 10e6}}), 0.04);
}

TEST(Limits, MessagesComeNoEarlierThanTheLatency) {
  EXPECT_GE(TimeSends(2, Transport::kTcp, {0}, 1, {.ici = {.latency_s = 0.03}}), 0.03);
  // With an empty message too.
  const auto begin = Clock::now();
  ExpectAllOk(RunRanks(2, Transport::kTcp, [](Communicator& c) { return c.Barrier(World(2)); },
                       {.ici = {.latency_s = 0.03}}));
  EXPECT_GE(Seconds(Clock::now() - begin), 0.03);
}

// A ring of n members passes n - 1 links one after the other, twice in all_reduce.
TEST(Limits, LatencyAddsUpAroundTheRing) {
  std::mutex mutex;
  Clock::time_point begin = Clock::time_point::max();
  ExpectAllOk(RunRanks(3, Transport::kTcp,
                       [&](Communicator& comm) -> Status {
                         std::vector<float> data(30000, 1.0f);
                         {
                           const std::lock_guard<std::mutex> lock(mutex);
                           begin = std::min(begin, Clock::now());
                         }
                         RETURN_IF_ERROR(comm.AllReduce(World(3), DType::kFloat32, ReduceKind::kSum,
                                                        {data.data(), 30000}));
                         EXPECT_EQ(data, std::vector<float>(30000, 3.0f));
                         EXPECT_GE(Seconds(Clock::now() - begin), 4 * 0.01);
                         return {};
                       },
                       {.ici = {.latency_s = 0.01}}));
}

TEST(Limits, ALimitedRingMovesEveryBlockAtTheLimit) {
  const auto begin = Clock::now();
  ExpectAllOk(RunRanks(3, Transport::kTcp,
                       [](Communicator& comm) -> Status {
                         std::vector<float> data(60000, 1.0f);
                         RETURN_IF_ERROR(comm.AllReduce(World(3), DType::kFloat32, ReduceKind::kSum,
                                                        {data.data(), 60000}));
                         EXPECT_EQ(data, std::vector<float>(60000, 3.0f));
                         return {};
                       },
                       {.ici = {.bytes_per_s = 10e6}}));
  EXPECT_GE(Seconds(Clock::now() - begin), 2.0 * 2 / 3 * 240000 / 10e6);
}

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(Limits, WaitingForTheLinkCostsNoProcessor) {
  ExpectAllOk(RunRanks(3, Transport::kTcp,
                       [](Communicator& comm) -> Status {
                         std::vector<float> data(75000, 1.0f);
                         const double before = ThreadSeconds();
                         const auto begin = Clock::now();
                         RETURN_IF_ERROR(comm.AllReduce(World(3), DType::kFloat32, ReduceKind::kSum,
                                                        {data.data(), 75000}));
                         EXPECT_LT(ThreadSeconds() - before, Seconds(Clock::now() - begin) / 4);
                         return {};
                       },
                       {.ici = {.bytes_per_s = 2e6}}));
}

const FabricLimit kTenSeconds = {.bytes_per_s = 1e5};  // for 1 MB

class LimitedCall : public ::testing::TestWithParam<Transport> {};

TEST_P(LimitedCall, AnAbortEndsItAtOnce) {
  std::latch begun(3), answered(3);
  std::atomic<int64_t> aborted_ns{0};
  std::vector<double> seconds(3);
  const auto results = RunRanks(
      3, GetParam(),
      [&](Communicator& comm) -> Status {
        std::vector<float> data(375000, 1.0f);
        RETURN_IF_ERROR(comm.Barrier(World(3)));
        std::thread aborter([&] {
          begun.arrive_and_wait();
          if (comm.rank() != 0) return;
          aborted_ns = MonotonicNs();
          comm.Abort("cancelled");
        });
        const Status status =
            comm.AllReduce(World(3), DType::kFloat32, ReduceKind::kSum, {data.data(), 375000});
        aborter.join();
        seconds[comm.rank()] = 1e-9 * static_cast<double>(MonotonicNs() - aborted_ns);
        answered.arrive_and_wait();  // one that closes earlier is what others would hear of
        return status;
      },
      {.ici = kTenSeconds});
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 aborted: cancelled"));
  }
  for (const double s : seconds) EXPECT_LT(s, 5);
}

TEST_P(LimitedCall, ADeadlineEndsIt) {
  std::latch answered(3);
  const auto begin = Clock::now();
  const auto results = RunRanks(3, GetParam(),
                                [&](Communicator& comm) -> Status {
                                  std::vector<float> data(375000, 1.0f);
                                  const Status status =
                                      comm.AllReduce(World(3), DType::kFloat32, ReduceKind::kSum,
                                                     {data.data(), 375000});
                                  answered.arrive_and_wait();
                                  return status;
                                },
                                {.call_deadline = milliseconds(300), .ici = kTenSeconds});
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("all_reduce #0 of group 0"));
  }
  EXPECT_LT(Seconds(Clock::now() - begin), 8);
}

INSTANTIATE_TEST_SUITE_P(All, LimitedCall, ::testing::Values(Transport::kTcp, Transport::kMixed),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace trireme
