// The collectives of the lockstep interpreter on three members that count, in place and not.
#include "tests/support/collectives.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

// Runs `op` on one buffer of floats a member and returns what each ends with.
std::vector<std::vector<float>> Collect(const std::string& op, const std::string& kind,
                                        const std::vector<std::vector<float>>& inputs,
                                        size_t out_count) {
  std::vector<std::vector<float>> outputs(inputs.size(), std::vector<float>(out_count, -1));
  std::vector<CollectiveBuffers> members;
  for (size_t m = 0; m < inputs.size(); ++m) {
    members.push_back({reinterpret_cast<const std::byte*>(inputs[m].data()),
                       static_cast<int64_t>(inputs[m].size()),
                       reinterpret_cast<std::byte*>(outputs[m].data()),
                       static_cast<int64_t>(out_count)});
  }
  RunCollective(op, kind, DType::kFloat32, members);
  return outputs;
}

using Buffers = std::vector<std::vector<float>>;
const Buffers kInputs = {
    {1, 20, 3, 4, 5, 6}, {10, 2, 30, 40, 50, 60}, {100, 200, 300, 400, 500, 600}};

TEST(Collectives, AllReduce) {
  EXPECT_EQ(Collect("all_reduce", "sum", kInputs, 6), Buffers(3, {111, 222, 333, 444, 555, 666}));
  EXPECT_EQ(Collect("all_reduce", "max", {{1, 9}, {2, 8}, {3, 7}}, 2), Buffers(3, {3, 9}));
}

TEST(Collectives, ReduceScatterGivesEachItsBlock) {
  EXPECT_EQ(Collect("reduce_scatter", "sum", kInputs, 2),
            (Buffers{{111, 222}, {333, 444}, {555, 666}}));
}

// Floats near 1e8 are 8 apart: it swallows a 3, but not two of them added before.
TEST(Collectives, SumsGoAroundTheRingAndEndWithTheBlocksOwner) {
  const float big = 1e8f, eight = 8.0f, small = 3.0f;
  // Block 0: (x1 + x2) + x0, block 1: (x2 + x0) + x1, block 2: (x0 + x1) + x2.
  const Buffers inputs = {{big, big, big}, {small, small, small}, {small, small, small}};
  EXPECT_EQ(Collect("reduce_scatter", "sum", inputs, 1), (Buffers{{big + eight}, {big}, {big}}));
  EXPECT_EQ(Collect("all_reduce", "sum", inputs, 3), Buffers(3, {big, big, big}));
}

TEST(Collectives, ALargeAllReduceIsSummedInBlocks) {
  const size_t count = 3 * 2000 + 1;  // more than 16 KiB; blocks of 2001, 2000 and 2000
  const Buffers inputs = {std::vector<float>(count, 1e8f), std::vector<float>(count, 3.0f),
                          std::vector<float>(count, 3.0f)};
  const Buffers outputs = Collect("all_reduce", "sum", inputs, count);
  EXPECT_EQ(outputs[0][2000], 1e8f + 8.0f);
  EXPECT_EQ(outputs[0][2001], 1e8f);
  EXPECT_EQ(outputs[1], outputs[0]);
}

TEST(Collectives, AllGatherStandsInGroupOrder) {
  EXPECT_EQ(Collect("all_gather", "sum", {{1, 2}, {3, 4}, {5, 6}}, 6),
            Buffers(3, {1, 2, 3, 4, 5, 6}));
}

TEST(Collectives, AllToAllTransposesBlocks) {
  EXPECT_EQ(
      Collect("all_to_all", "sum", kInputs, 6),
      (Buffers{{1, 20, 10, 2, 100, 200}, {3, 4, 30, 40, 300, 400}, {5, 6, 50, 60, 500, 600}}));
}

TEST(Collectives, InPlaceIsSafe) {
  std::vector<std::vector<double>> data = {{1, 2}, {10, 20}};
  std::vector<CollectiveBuffers> members;
  for (std::vector<double>& values : data) {
    auto* bytes = reinterpret_cast<std::byte*>(values.data());
    members.push_back({bytes, 2, bytes, 2});
  }
  RunCollective("all_reduce", "sum", DType::kFloat64, members);
  EXPECT_EQ(data, (std::vector<std::vector<double>>{{11, 22}, {11, 22}}));
}

TEST(CollectivesDeathTest, CountsMustFit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Collect("all_gather", "sum", {{1, 2}, {3, 4}}, 3), "out_bytes");
  EXPECT_DEATH(Collect("all_reduce", "sum", {{1, 2}, {3}}, 2), "all_reduce");
}

}  // namespace
}  // namespace trireme
