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

// Window 3, values equal to the key's place, scores all equal: query 5 averages keys 3, 4, 5; the
// first queries see what there is.
TEST(Attention, AWindowSeesTheLastPositions) {
  OpCase c = AttentionCase({.queries = 7, .keys = 7, .window = 3});
  c.inputs[0] = Given(c.inputs[0].dims, DType::kFloat32, std::vector<double>(7, 0.0));
  c.inputs[2] = Given(c.inputs[2].dims, DType::kFloat32, {0, 1, 2, 3, 4, 5, 6});
  for (const bool cpu : {false, true}) {
    const std::vector<HostTensor> out = RunOp(c, MakeInputs(c), {.cpu = cpu});
    const std::vector<double> expected{0, 0.5, 1, 2, 3, 4, 5};
    for (int i = 0; i < 7; ++i) {
      EXPECT_NEAR(out[0].Get(i), expected[i], 1e-6) << cpu << " " << i;
      EXPECT_NEAR(out[1].Get(i), std::log(std::min(i + 1.0, 3.0)), 1e-6) << cpu << " " << i;
    }
  }
}

// A window of one place sees itself only; one as long as the sequence hides nothing.
TEST(Attention, WindowsOfOneAndOfAll) {
  OpCase c = InFloat64(AttentionCase({2, 9, 9, 2, 2, 4, 1000, 0, 1}));
  const std::vector<HostTensor> inputs = MakeInputs(c);
  EXPECT_EQ(Difference(inputs[2], RunOp(c, inputs)[0], 1e-12), "");
  c.attrs.Set("window", int64_t{9});
  const HostTensor wide = RunOp(c, inputs)[0];
  c.attrs.Set("window", int64_t{0});
  EXPECT_EQ(Difference(RunOp(c, inputs)[0], wide, 0), "");
}

// A ring's step sees a third of the keys; for many queries all of them lie outside the window.
TEST(Attention, RingStepsOfAWindowMergeToTheWhole) {
  const OpCase whole = AttentionCase({2, 12, 12, 4, 2, 8, 1000, 0, 3});
  for (const bool cpu : {false, true}) {
    const RunOptions options{.cpu = cpu};
    const std::vector<HostTensor> expected = RunOp(whole, MakeInputs(whole), options);
    std::vector<HostTensor> merged;
    for (const int64_t begin : {0, 4, 8}) {
      const OpCase c = KeysOf(whole, begin, 4);
      std::vector<HostTensor> part = RunOp(c, MakeInputs(c), options);
      const int64_t far = begin == 0 ? 11 : 0;  // a query that sees none of these keys
      for (int64_t head = 0; head < 4; ++head) EXPECT_EQ(part[1].Get(far * 4 + head), kNever);
      if (begin > 0) {
        const std::vector<Dim> o = whole.inputs[0].dims;
        const std::vector<Dim> rows(o.begin(), o.end() - 1);
        const OpCase merge{.op = "softmax_merge",
                           .inputs = {Normal(o), Normal(rows), Normal(o), Normal(rows)}};
        part = RunOp(merge, {merged[0], merged[1], part[0], part[1]}, options);
      }
      merged = part;
    }
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Difference(expected[i], merged[i], 1e-5), "") << i;
  }
}

TEST(Attention, Gradient) {
  for (const AttentionShape& shape : AttentionShapes()) CheckGradient(AttentionCase(shape));
}

// Splits of key_position are the expansion's: a ring.
TEST(Attention, EverySharding) {
  for (const int64_t window : {0, 2}) {
    AttentionShape shape = kSplit;
    shape.window = window;
    OpCase c = AttentionCase(shape);
    c.skip_dims = {"key_position"};
    CheckEverySharding(c);
  }
}

TEST(Attention, CpuMatchesReference) {
  for (const AttentionShape& shape : AttentionShapes()) {
    CheckCpuMatchesReference(AttentionCase(shape), 1e-5);
  }
  CheckCpuMatchesReference(AttentionCase({2, 70, 70, 4, 2, 32, 33}), 1e-5);
  CheckCpuMatchesReference(AttentionCase({1, 130, 130, 1, 1, 64}), 1e-5);
  CheckCpuMatchesReference(AttentionCase({2, 300, 300, 4, 2, 16, 170, 0, 20}), 1e-5);
  CheckCpuMatchesReference(AttentionCase({1, 400, 400, 2, 1, 16, 7, 0, 3}), 1e-5);
  CheckCpuMatchesReference(AttentionCase({1, 700, 700, 1, 1, 8, 1000, 0, 300}), 1e-5);
}

// Queries and keys in another order, with their positions, give the same rows in that order.
TEST(Attention, PositionsMayStandInAnyOrder) {
  for (const int64_t window : {0, 20}) {
    const OpCase c = AttentionCase({2, 300, 300, 4, 2, 16, 170, 0, window});
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
          EXPECT_EQ(Difference(expected[i], Reordered(out[i], order, /*back=*/true), 1e-5), "")
              << i;
        }
      }
    }
  }
}

// Multiplications of the tiles of `order`: queries times keys of every tile. Segments are of
// `segment_length` places; positions start again in each.
int64_t TileArea(const std::vector<int64_t>& q_order, const std::vector<int64_t>& k_order,
                 int64_t window = 0, int64_t segment_length = 1 << 30) {
  std::vector<int32_t> q, k, segments;
  for (const int64_t place : q_order) q.push_back(static_cast<int32_t>(place % segment_length));
  for (const int64_t place : k_order) {
    k.push_back(static_cast<int32_t>(place % segment_length));
    segments.push_back(static_cast<int32_t>(place / segment_length));
  }
  CHECK(segment_length == 1 << 30 || q_order == k_order);
  segments.resize(std::max(q.size(), k.size()), 0);
  const AttentionSizes sizes{.batch = 1,
                             .queries = static_cast<int64_t>(q.size()),
                             .keys = static_cast<int64_t>(k.size()),
                             .window = window,
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

// 4096 positions with a window of 128: a block of 64 queries computes the 191 keys that it sees, in
// one segment and in segments of 1000.
TEST(Attention, WorkIsProportionalToTheWindow) {
  std::vector<int64_t> sorted;
  for (int64_t i = 0; i < 4096; ++i) sorted.push_back(i);
  EXPECT_LE(TileArea(sorted, sorted, 128), 4096 * 191);
  EXPECT_LE(TileArea(sorted, sorted, 128, 1000), 4096 * 191);
  EXPECT_LE(TileArea(ZigZag(4096, false), ZigZag(4096, false), 128), 4096 * 191);
  EXPECT_GT(TileArea(sorted, sorted), 4096 * 4096 / 2);
}

// FLOPs of the op for 100 positions of one head of one element.
double Flops(int64_t window, int64_t num_keys) {
  OpCase c = AttentionCase({.queries = 100, .keys = 100, .window = window});
  if (num_keys > 0) c.attrs.Set("num_keys", num_keys);
  Graph graph;
  Node node{.op = c.op, .attrs = c.attrs};
  for (const OpInput& input : c.inputs) {
    node.inputs.push_back(graph.AddValue({.dims = input.dims, .dtype = input.dtype}));
  }
  return FindRule("attention").cost(graph, node).flops;
}

// A pair costs 4 operations. A window of 10 leaves 950 pairs of 5000; of a ring's step, which holds
// 100 of 400 keys, the same share of its pairs that the whole sequence would keep.
TEST(Attention, CostCountsTheWindow) {
  EXPECT_DOUBLE_EQ(Flops(0, 0), 4 * 5000);
  EXPECT_DOUBLE_EQ(Flops(10, 0), 4 * 950);
  EXPECT_DOUBLE_EQ(Flops(1000, 0), 4 * 5000);
  EXPECT_DOUBLE_EQ(4 * Flops(100, 400), 4 * (100 * 100 - 100 * 100 / 8.0));
}

TEST(Attention, LargeScoresStayFinite) {
  OpCase c = AttentionCase({1, 5, 5, 2, 1, 4});
  c.attrs.Set("scale", 1000.0);
  CheckCpuMatchesReference(c, 1e-3);
}

TEST(Attention, RefusesNegativeWindows) {
  OpCase c = AttentionCase({.queries = 3, .keys = 3});
  c.attrs.Set("window", int64_t{-1});
  ExpectInferError(c, "window -1 must be the positions a query sees, or 0 for all");
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
