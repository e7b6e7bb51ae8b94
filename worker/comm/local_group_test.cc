// The harness gives every rank its number and reports every rank's result.
#include "worker/comm/local_group.h"

#include <string>

#include "gtest/gtest.h"

namespace trireme {
namespace {

TEST(LocalGroup, ResultsArePerRank) {
  const auto results = RunRanks(3, Transport::kMixed, [](Communicator& comm) -> Status {
    EXPECT_EQ(comm.size(), 3);
    if (comm.rank() == 1) return NotFound("one");
    return {};
  });
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].ok());
  EXPECT_EQ(results[1].code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(results[2].ok());
}

TEST(LocalGroup, TransportsDecideWhoSharesMemory) {
  const auto shm = LocalGroup::Create(3, Transport::kShm);
  const auto tcp = LocalGroup::Create(3, Transport::kTcp);
  const auto mixed = LocalGroup::Create(3, Transport::kMixed);
  ASSERT_TRUE(shm.ok() && tcp.ok() && mixed.ok());
  EXPECT_EQ((*shm)->segment_of(0), (*shm)->segment_of(2));
  EXPECT_EQ((*tcp)->segment_of(0), nullptr);
  EXPECT_NE((*mixed)->segment_of(0), nullptr);
  EXPECT_EQ((*mixed)->segment_of(0), (*mixed)->segment_of(2));
  EXPECT_EQ((*mixed)->segment_of(1), nullptr);
}

}  // namespace
}  // namespace trireme
