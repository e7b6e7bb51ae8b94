// One conformance suite for every transport and group size: each collective is compared bit by bit
// with plain loops in the documented order, over values whose float sums depend on it. Equal bits
// to the loops on all transports and members mean equal bits among them.
#include "worker/comm/cpu_communicator.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/blocks.h"
#include "worker/comm/local_group.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

const int64_t kCounts[] = {0, 1, 3, 1000, 65537};

// Large and small numbers of both signs, so that (a + b) + c differs from a + (b + c).
template <typename T>
T Value(int32_t rank, int64_t i) {
  const int64_t mixed = (i * 7919 + rank * 104729) % 1009 - 504;
  return static_cast<T>(mixed * (i % 3 == rank % 3 ? 100003 : 1)) / static_cast<T>(3);
}

template <typename T>
std::vector<T> Values(int32_t rank, int64_t count) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = Value<T>(rank, i);
  return values;
}

template <typename T>
constexpr DType kDTypeOf = DType::kFloat32;
template <>
constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
constexpr DType kDTypeOf<int32_t> = DType::kInt32;

// Elements [begin, begin + count) reduced over `ranks` in this order.
template <typename T>
std::vector<T> ReducedPart(const std::vector<int32_t>& ranks, ReduceKind kind, int64_t begin,
                           int64_t count) {
  std::vector<T> result(count);
  for (int64_t i = 0; i < count; ++i) {
    result[i] = Value<T>(ranks[0], begin + i);
    for (size_t m = 1; m < ranks.size(); ++m) {
      const T value = Value<T>(ranks[m], begin + i);
      result[i] = kind == ReduceKind::kSum ? result[i] + value : std::max(result[i], value);
    }
  }
  return result;
}

// The order of all_reduce: blocks from the member behind them around the ring, small ones in group
// order.
template <typename T>
std::vector<T> Reduced(const GroupRanks& group, ReduceKind kind, int64_t count) {
  if (count * static_cast<int64_t>(sizeof(T)) <= kSmallCallBytes) {
    return ReducedPart<T>(group.ranks, kind, 0, count);
  }
  std::vector<T> result;
  const auto members = static_cast<int64_t>(group.ranks.size());
  for (int64_t b = 0; b < members; ++b) {
    const Block block = BlockOf(count, members, b);
    const auto part = ReducedPart<T>(RingOrder(group.ranks, b), kind, block.begin, block.count);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <typename T>
Span Of(std::vector<T>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

template <typename T>
ConstSpan In(const std::vector<T>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

GroupRanks World(int32_t size, int32_t id = 0) {
  GroupRanks group{id, std::vector<int32_t>(size)};
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

int64_t PlaceOf(const GroupRanks& group, int32_t rank) {
  return std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin();
}

void ExpectAllOk(const std::vector<Status>& results) {
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(results[i].ok()) << i << " " << results[i];
}

template <typename T>
Status CheckAllReduce(Communicator& comm, const GroupRanks& group, int64_t count) {
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax}) {
    std::vector<T> data = Values<T>(comm.rank(), count);
    RETURN_IF_ERROR(comm.AllReduce(group, kDTypeOf<T>, kind, Of(data)));
    EXPECT_TRUE(SameBits(data, Reduced<T>(group, kind, count))) << comm.rank() << " " << count;
  }
  return {};
}

template <typename T>
Status CheckReduceScatter(Communicator& comm, const GroupRanks& group, int64_t count) {
  const int64_t members = static_cast<int64_t>(group.ranks.size());
  const int64_t begin = PlaceOf(group, comm.rank()) * count;
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax}) {
    const std::vector<T> in = Values<T>(comm.rank(), members * count);
    std::vector<T> out(count);
    RETURN_IF_ERROR(comm.ReduceScatter(group, kDTypeOf<T>, kind, In(in), Of(out)));
    const std::vector<int32_t> order = RingOrder(group.ranks, PlaceOf(group, comm.rank()));
    EXPECT_TRUE(SameBits(out, ReducedPart<T>(order, kind, begin, count)))
        << comm.rank() << " " << count;
    // In place: the result takes the place of this rank's own block.
    std::vector<T> data = in;
    RETURN_IF_ERROR(
        comm.ReduceScatter(group, kDTypeOf<T>, kind, In(data), {data.data() + begin, count}));
    data.erase(data.begin(), data.begin() + begin);
    data.resize(count);
    EXPECT_TRUE(SameBits(data, out)) << comm.rank() << " " << count;
  }
  return {};
}

template <typename T>
Status CheckAllGather(Communicator& comm, const GroupRanks& group, int64_t count) {
  std::vector<T> expected;
  for (const int32_t member : group.ranks) {
    const std::vector<T> part = Values<T>(member, count);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  std::vector<T> out(expected.size());
  const std::vector<T> in = Values<T>(comm.rank(), count);
  RETURN_IF_ERROR(comm.AllGather(group, kDTypeOf<T>, In(in), Of(out)));
  EXPECT_TRUE(SameBits(out, expected)) << comm.rank() << " " << count;
  return {};
}

template <typename T>
Status CheckAllToAll(Communicator& comm, const GroupRanks& group, int64_t count) {
  const int64_t members = static_cast<int64_t>(group.ranks.size());
  const int64_t begin = PlaceOf(group, comm.rank()) * count;
  std::vector<T> expected;
  for (const int32_t member : group.ranks) {
    const std::vector<T> all = Values<T>(member, members * count);
    expected.insert(expected.end(), all.begin() + begin, all.begin() + begin + count);
  }
  std::vector<T> out(members * count);
  const std::vector<T> in = Values<T>(comm.rank(), members * count);
  RETURN_IF_ERROR(comm.AllToAll(group, kDTypeOf<T>, In(in), Of(out)));
  EXPECT_TRUE(SameBits(out, expected)) << comm.rank() << " " << count;
  return {};
}

template <typename T>
Status CheckAll(Communicator& comm, const GroupRanks& group, int64_t count) {
  RETURN_IF_ERROR(CheckAllReduce<T>(comm, group, count));
  RETURN_IF_ERROR(CheckReduceScatter<T>(comm, group, count));
  RETURN_IF_ERROR(CheckAllGather<T>(comm, group, count));
  return CheckAllToAll<T>(comm, group, count);
}

class Conformance : public ::testing::TestWithParam<std::tuple<Transport, int32_t>> {
 protected:
  Transport transport() const { return std::get<0>(GetParam()); }
  int32_t size() const { return std::get<1>(GetParam()); }
};

TEST_P(Conformance, EveryCollectiveEqualsALoopInTheDocumentedOrder) {
  ExpectAllOk(RunRanks(size(), transport(), [&](Communicator& comm) -> Status {
    const GroupRanks world = World(size());
    for (const int64_t count : kCounts) {
      RETURN_IF_ERROR(CheckAll<float>(comm, world, count));
      RETURN_IF_ERROR(comm.Barrier(world));
      if (count > 1000) continue;  // the paths of large messages do not depend on the dtype
      RETURN_IF_ERROR(CheckAll<double>(comm, world, count));
      RETURN_IF_ERROR(CheckAll<int32_t>(comm, world, count));
    }
    return {};
  }));
}

// Descending order gives other float sums than ascending order, and must.
TEST_P(Conformance, SumsFollowTheOrderOfTheGroup) {
  ExpectAllOk(RunRanks(size(), transport(), [&](Communicator& comm) -> Status {
    GroupRanks reversed = World(size(), 7);
    std::reverse(reversed.ranks.begin(), reversed.ranks.end());
    RETURN_IF_ERROR(CheckAllReduce<float>(comm, reversed, 1000));
    RETURN_IF_ERROR(CheckAllReduce<float>(comm, reversed, 65537));
    return CheckReduceScatter<float>(comm, reversed, 3000);
  }));
  if (size() < 3) return;
  GroupRanks reversed = World(size());
  std::reverse(reversed.ranks.begin(), reversed.ranks.end());
  EXPECT_FALSE(SameBits(Reduced<float>(World(size()), ReduceKind::kSum, 1000),
                        Reduced<float>(reversed, ReduceKind::kSum, 1000)));
}

// Every rank sends three messages to its right neighbour, one of them large, and one to itself, at
// once.
TEST_P(Conformance, ExchangeAroundTheRingKeepsOrderPerPeer) {
  ExpectAllOk(RunRanks(size(), transport(), [&](Communicator& comm) -> Status {
    const int32_t right = (comm.rank() + 1) % size();
    const int32_t left = (comm.rank() + size() - 1) % size();
    for (int32_t round = 0; round < 3; ++round) {
      std::vector<PeerMessage> sends, receives;
      std::vector<std::vector<double>> out, in;
      const std::vector<int64_t> counts = {5, 300001, 0, 17};
      for (size_t m = 0; m < counts.size(); ++m) {
        out.push_back(Values<double>(comm.rank() + 10 * round, counts[m]));
        in.emplace_back(counts[m]);
      }
      for (size_t m = 0; m < counts.size(); ++m) {
        const bool to_self = m == 3;
        const int64_t bytes = counts[m] * static_cast<int64_t>(sizeof(double));
        const int32_t tag = static_cast<int32_t>(m);
        sends.push_back({to_self ? comm.rank() : right, tag, out[m].data(), bytes});
        receives.push_back({to_self ? comm.rank() : left, tag, in[m].data(), bytes});
      }
      RETURN_IF_ERROR(comm.Exchange(sends, receives));
      for (size_t m = 0; m < counts.size(); ++m) {
        const int32_t from = m == 3 ? comm.rank() : left;
        EXPECT_TRUE(SameBits(in[m], Values<double>(from + 10 * round, counts[m]))) << m;
      }
    }
    return {};
  }));
}

INSTANTIATE_TEST_SUITE_P(All, Conformance,
                         ::testing::Combine(::testing::Values(Transport::kShm, Transport::kTcp,
                                                              Transport::kMixed),
                                            ::testing::Values(1, 2, 3, 4, 7)),
                         [](const auto& info) {
                           return std::string(Name(std::get<0>(info.param))) +
                                  std::to_string(std::get<1>(info.param));
                         });

class Subgroups : public ::testing::TestWithParam<Transport> {};

// Rows and columns of a 2 x 2 mesh: every pair of ranks shares links of several groups.
TEST_P(Subgroups, RowsAndColumnsOfAMeshDoNotMixUp) {
  ExpectAllOk(RunRanks(4, GetParam(), [&](Communicator& comm) -> Status {
    const int32_t row = comm.rank() / 2;
    const int32_t column = comm.rank() % 2;
    const GroupRanks in_row{10 + row, {2 * row, 2 * row + 1}};
    const GroupRanks in_column{20 + column, {column, 2 + column}};
    for (const int64_t count : {1, 1000, 65537}) {
      RETURN_IF_ERROR(CheckAll<float>(comm, in_row, count));
      RETURN_IF_ERROR(CheckAll<float>(comm, in_column, count));
      RETURN_IF_ERROR(comm.Barrier(World(4)));
      // Some ranks only.
      if (comm.rank() != 2) RETURN_IF_ERROR(CheckAll<double>(comm, {30, {3, 0, 1}}, count));
    }
    return {};
  }));
}

// Numbers, not only sums: dtypes that cannot be reduced can be moved.
TEST_P(Subgroups, HalfPrecisionIsGatheredButNotReduced) {
  ExpectAllOk(RunRanks(2, GetParam(), [&](Communicator& comm) -> Status {
    const uint16_t mine = static_cast<uint16_t>(100 + comm.rank());
    std::vector<uint16_t> all(2);
    RETURN_IF_ERROR(comm.AllGather(World(2), DType::kBFloat16, {&mine, 1}, {all.data(), 2}));
    EXPECT_EQ(all, (std::vector<uint16_t>{100, 101}));
    const Status status =
        comm.AllReduce(World(2), DType::kBFloat16, ReduceKind::kSum, {all.data(), 2});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("bfloat16"));
    return {};
  }));
}

INSTANTIATE_TEST_SUITE_P(All, Subgroups,
                         ::testing::Values(Transport::kShm, Transport::kTcp, Transport::kMixed),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Wrong arguments are refused before anything is sent, and the communicator goes on.
TEST(CpuCommunicator, WrongArgumentsAreNamedAndHarmless) {
  ExpectAllOk(RunRanks(2, Transport::kShm, [&](Communicator& comm) -> Status {
    std::vector<float> two(2), three(3);
    const auto expect = [](const Status& status, const std::string& text) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    };
    expect(comm.AllGather(World(2), DType::kFloat32, In(two), Of(three)), "members * in");
    expect(comm.ReduceScatter(World(2), DType::kFloat32, ReduceKind::kSum, In(three), Of(two)),
           "members * out");
    expect(comm.AllToAll(World(2), DType::kFloat32, In(three), Of(three)), "multiple");
    expect(comm.Barrier({5, {0, 1, 2}}), "[0, 2)");
    expect(comm.Barrier({5, {0, 0, 1}}), "once");
    expect(comm.Barrier({5, {1 - comm.rank()}}), "not a member of group 5");
    expect(comm.Exchange({{9, 0, nullptr, 0}}, {}), "rank 9");
    expect(comm.Exchange({{comm.rank(), 0, two.data(), 4}}, {}), "itself");
    return CheckAll<float>(comm, World(2), 10);
  }));
}

// Real processes: four forked ranks over shared memory, each checks its own result and says so in
// its exit code.
TEST(CpuCommunicator, ForkedProcessesShareMemory) {
  constexpr int32_t kSize = 4;
  auto group = LocalGroup::Create(kSize, Transport::kShm);
  ASSERT_TRUE(group.ok()) << group.status();
  std::vector<pid_t> children;
  for (int32_t rank = 0; rank < kSize; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto comm = Connect((*group)->OptionsOf(rank));
      if (!comm.ok()) _exit(1);
      for (const int64_t count : {1, 1000, 65537}) {
        std::vector<float> data = Values<float>(rank, count);
        const Status status =
            (*comm)->AllReduce(World(kSize), DType::kFloat32, ReduceKind::kSum, Of(data));
        if (!status.ok()) _exit(2);
        if (!SameBits(data, Reduced<float>(World(kSize), ReduceKind::kSum, count))) _exit(3);
      }
      comm->reset();
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, 0), child);
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
  }
}

}  // namespace
}  // namespace trireme
