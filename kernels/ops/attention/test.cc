// attention: known values, masks, gradient, shardings (heads with and without kv_heads), odd sizes,
// positions in any order, errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/ops/attention/key_tiles.h"
#include "kernels/ops/attention/test_case.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The shape that every dim of can be split.
const AttentionShape kSplit{.batch = 2,
                            .queries = 6,
                            .keys = 6,
                            .heads = 12,
                            .kv_heads = 6,
                            .head_dim = 4,
                            .segment_length = 4};

// Two queries, scores all equal: the first sees one key, the second the mean of two.
TEST(Attention, AveragesTheKeysItMaySee) {
  OpCase c = AttentionCase({.queries = 2, .keys = 2});
  c.inputs[0] = Given(c.inputs[0].dims, DType::kFloat64, {0, 0});
  c.inputs[1] = Given(c.inputs[1].dims, DType::kFloat64, {1, 2});
  c.inputs[2] = Given(c.inputs[2].dims, DType::kFloat64, {10, 20});
  const std::vector<HostTensor> out = RunOp(c, MakeInputs(c));
  EXPECT_EQ(out[0].Values(), std::vector<double>({10, 15}));
  EXPECT_NEAR(out[1].Get(0), 0, 1e-12);
  EXPECT_NEAR(out[1].Get(1), std::log(2.0), 1e-12);
}

// With segments of one place each query sees itself only, whatever the scores.
TEST(Attention, SegmentsDoNotSeeEachOther) {
  const OpCase c = InFloat64(AttentionCase({.queries = 5, .keys = 5, .segment_length = 1}));
  const std::vector<HostTensor> inputs = MakeInputs(c);
  EXPECT_EQ(Difference(inputs[2], RunOp(c, inputs)[0], 1e-12), "");
}

TEST(Attention, AQueryWithoutKeysGivesZeroAndMinusInfinity) {
  const OpCase c = AttentionCase({.queries = 2, .keys = 1, .first_query = -1});
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> out = RunOp(c, MakeInputs(c), {.cpu = cpu});
    EXPECT_EQ(out[0].Get(0), 0) << cpu;
    EXPECT_EQ(out[1].Get(0), kNever) << cpu;
    EXPECT_TRUE(std::isfinite(out[1].Get(1))) << cpu;
  }
}

// Head h uses kv head h / query_group: heads 2 and 3 of four read the second of two kv heads.
TEST(Attention, HeadsShareKvHeads) {
  OpCase c = AttentionCase({.heads = 4, .kv_heads = 2});
  c.inputs[2] = Given(c.inputs[2].dims, DType::kFloat32, {10, 20});
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), std::vector<double>({10, 10, 20, 20}));
  c.attrs.Set("head_start", int64_t{4});
  c.attrs.Set("kv_head_start", int64_t{2});
  EXPECT_EQ(RunOp(c, MakeInputs(c))[0].Values(), std::vector<double>({10, 10, 20, 20}));
}

TEST(Attention, Gradient) {
  for (const AttentionShape& shape : AttentionShapes()) CheckGradient(AttentionCase(shape));
}

// Splits of key_position are the expansion's: a ring.
TEST(Attention, EverySharding) {
  OpCase c = AttentionCase(kSplit);
  c.skip_dims = {"key_position"};
  CheckEverySharding(c);
}

TEST(Attention, CpuMatchesReference) {
  for (const AttentionShape& shape : AttentionShapes()) {
    CheckCpuMatchesReference(AttentionCase(shape), 1e-5);
  }
  CheckCpuMatchesReference(AttentionCase({2, 70, 70, 4, 2, 32, 33}), 1e-5);
  CheckCpuMatchesReference(AttentionCase({1, 130, 130, 1, 1, 64}), 1e-5);
}

// Queries and keys in another order, with their positions, give the same rows in that order.
TEST(Attention, PositionsMayStandInAnyOrder) {
  const OpCase c = AttentionCase({2, 300, 300, 4, 2, 16, 170});
  for (const bool cpu : {false, true}) {
    const RunOptions options{.cpu = cpu, .num_threads = 2};
    const std::vector<HostTensor> inputs = MakeInputs(c);
    const std::vector<HostTensor> expected = RunOp(c, inputs, options);
    for (const bool swap : {false, true}) {
      const std::vector<int64_t> order = ZigZag(300, swap);
      std::vector<HostTensor> moved;
      for (const HostTensor& input : inputs) moved.push_back(Reordered(input, order));
      const std::vector<HostTensor> out = RunOp(c, moved, options);
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(Difference(expected[i], Reordered(out[i], order, /*back=*/true), 1e-5), "") << i;
      }
    }
  }
}

// Multiplications of the tiles of `order`: queries times keys of every tile.
int64_t TileArea(const std::vector<int64_t>& q_order, const std::vector<int64_t>& k_order) {
  const std::vector<int32_t> q(q_order.begin(), q_order.end()), k(k_order.begin(), k_order.end());
  const std::vector<int32_t> segments(std::max(q.size(), k.size()), 0);
  const AttentionSizes sizes{.batch = 1,
                             .queries = static_cast<int64_t>(q.size()),
                             .keys = static_cast<int64_t>(k.size()),
                             .q_positions = q.data(),
                             .k_positions = k.data(),
                             .q_segments = segments.data(),
                             .k_segments = segments.data()};
  int64_t area = 0;
  for (int64_t query = 0; query < sizes.queries; query += kQueryBlock) {
    ForEachKeyTile(sizes, 0, query,
                   [&](const AttentionTile& tile) { area += tile.num_queries * tile.num_keys; });
  }
  return area;
}

// Parts of a sequence in zig-zag order cost what they cost in order; queries before all keys cost
// nothing.
TEST(Attention, MaskedTilesAreSkippedInAnyOrder) {
  std::vector<int64_t> sorted;
  for (int64_t i = 0; i < 1024; ++i) sorted.push_back(i);
  EXPECT_EQ(TileArea(ZigZag(1024, false), ZigZag(1024, false)), TileArea(sorted, sorted));
  EXPECT_LT(TileArea(sorted, sorted), 1024 * 1024 * 6 / 10);
  const std::vector<int64_t> early(sorted.begin(), sorted.begin() + 512);
  const std::vector<int64_t> late(sorted.begin() + 512, sorted.end());
  EXPECT_EQ(TileArea(early, late), 0);
  EXPECT_EQ(TileArea(late, early), 512 * 512);
}

TEST(Attention, LargeScoresStayFinite) {
  OpCase c = AttentionCase({1, 5, 5, 2, 1, 4});
  c.attrs.Set("scale", 1000.0);
  CheckCpuMatchesReference(c, 1e-3);
}

TEST(Attention, RefusesHeadsThatDoNotFitTheGroup) {
  OpCase c = AttentionCase({.heads = 4, .kv_heads = 2});
  c.attrs.Set("query_group", int64_t{3});
  ExpectInferError(c, "query_group 3 times 2 kv_heads is not 4 heads");
  c = AttentionCase({.queries = 3, .keys = 3});
  c.inputs[4] = c.inputs[3];
  ExpectInferError(c, "must have dims [batch 1, key_position 3]");
}

}  // namespace
}  // namespace trireme
