// Collectives on memory: packs and unpacks appear only where the travelling dim is not outermost,
// and what the views of a pack say is checked by moving numbers through them.
#include <numeric>

#include "common/base/math.h"
#include "coordinator/compiler/passes/lower.h"
#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

const std::vector<Dim> kDims = {{"batch", 8}, {"embed", 12}};

// Code of a single reshard between parameters, so that both ends have names.
SegmentCode Lower(TestGraph& g) {
  const SegmentLayout layout = LayOutSegment(g.graph, g.mesh);
  std::vector<Group> groups;
  int64_t scratch = 0;
  return LowerPhase(g.graph, g.mesh, layout, Phase::kForward, CodePart::kBody, &groups, &scratch);
}

struct OneReshard : TestGraph {
  OneReshard(const std::string& op, std::vector<std::vector<int>> from,
             std::vector<std::vector<int>> to, std::vector<int64_t> axes, int64_t dim,
             int64_t to_dim = -1) {
    const int in = Value(kDims, std::move(from), ValueKind::kParam, 0);
    const int out = Value(kDims, std::move(to), ValueKind::kGrad, 0);
    Reshard(op, in, out, std::move(axes), dim, to_dim);
  }
};

TEST(LowerReshard, GatherOfTheOutermostDimIsOneCall) {
  OneReshard g("all_gather", {{1}, {}}, {}, {1}, 0);
  EXPECT_EQ(CodeText(Lower(g)), "all_gather(param:0@0 2x12/12x1) -> grad:0@0 8x12/12x1\n");
}

TEST(LowerReshard, GatherOfAnInnerDimIsUnpacked) {
  OneReshard g("all_gather", {{}, {1}}, {}, {1}, 1);
  EXPECT_EQ(CodeText(Lower(g)),
            "all_gather(param:0@0 8x3/3x1) -> scratch@0 96/1\n"
            "copy(scratch@0 8x4x3/3x24x1) -> grad:0@0 8x4x3/12x3x1\n");
}

TEST(LowerReshard, ScatterOfTheOutermostDimIsOneCall) {
  OneReshard g("reduce_scatter", {}, {{1}, {}}, {1}, 0);
  EXPECT_EQ(CodeText(Lower(g)), "reduce_scatter(param:0@0 8x12/12x1) -> grad:0@0 2x12/12x1\n");
}

TEST(LowerReshard, ScatterOfAnInnerDimIsPacked) {
  OneReshard g("reduce_scatter", {}, {{}, {1}}, {1}, 1);
  EXPECT_EQ(CodeText(Lower(g)),
            "copy(param:0@0 8x4x3/12x3x1) -> scratch@0 8x4x3/3x24x1\n"
            "reduce_scatter(scratch@0 96/1) -> grad:0@0 8x3/3x1\n");
}

TEST(LowerReshard, AllToAllPacksTheSideThatIsInner) {
  // Split batch becomes split embed: what goes to a peer is a block of columns; what comes is a
  // block of rows.
  OneReshard to_inner("all_to_all", {{1}, {}}, {{}, {1}}, {1}, 0, 1);
  EXPECT_EQ(CodeText(Lower(to_inner)),
            "copy(param:0@0 2x4x3/12x3x1) -> scratch@0 2x4x3/3x6x1\n"
            "all_to_all(scratch@0 24/1) -> grad:0@0 8x3/3x1\n");
  OneReshard to_outer("all_to_all", {{}, {1}}, {{1}, {}}, {1}, 1, 0);
  EXPECT_EQ(CodeText(Lower(to_outer)),
            "all_to_all(param:0@0 8x3/3x1) -> scratch@0 24/1\n"
            "copy(scratch@0 2x4x3/3x6x1) -> grad:0@0 2x4x3/12x3x1\n");
}

TEST(LowerReshard, AllReduceOfBoundMemoryIsCopiedFirst) {
  OneReshard g("all_reduce", {}, {}, {1}, -1);
  EXPECT_EQ(CodeText(Lower(g)),
            "copy(param:0@0 8x12/12x1) -> grad:0@0 8x12/12x1\n"
            "all_reduce(grad:0@0 8x12/12x1) -> grad:0@0 8x12/12x1\n");
}

TEST(LowerReshard, SliceOfAnInnerDimIsACopyAtTheRanksColumn) {
  OneReshard g("slice", {}, {{}, {1}}, {1}, 1);
  EXPECT_EQ(CodeText(Lower(g)), "copy(param:0@0+3c1 8x3/12x1) -> grad:0@0 8x3/3x1\n");
}

TEST(LowerReshard, SliceOfTheOutermostDimIsNothing) {
  TestGraph g;
  const int x = g.Value(kDims, {}, ValueKind::kParam, 0);
  g.Reshard("slice", x, g.Value(kDims, {{1}, {}}), {1}, 0);
  EXPECT_EQ(CodeText(Lower(g)), "");
}

TEST(LowerReshard, CollectivesNameGroupTensorAndReason) {
  OneReshard g("all_gather", {{1}, {}}, {}, {1}, 0);
  g.graph.nodes[0].reason = "stored as embed: data";
  const SegmentLayout layout = LayOutSegment(g.graph, g.mesh);
  std::vector<Group> groups = {{.axes = {0}}};
  int64_t scratch = 0;
  const SegmentCode code =
      LowerPhase(g.graph, g.mesh, layout, Phase::kForward, CodePart::kBody, &groups, &scratch);
  const Instruction& gather = code.instructions[0];
  EXPECT_EQ(gather.group, 1);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1].axes, std::vector<int32_t>{1});
  EXPECT_EQ(gather.tensor, "v0");
  EXPECT_EQ(gather.reason, "stored as embed: data");
  EXPECT_EQ(gather.attrs.GetString("kind"), "sum");
}

// ---- numbers through the views

int64_t At(const View& view, int64_t index) {
  int64_t at = view.offset.base;
  for (int d = static_cast<int>(view.sizes.size()) - 1; d >= 0; --d) {
    at += index % view.sizes[d] * view.strides[d];
    index /= view.sizes[d];
  }
  return at;
}

// What a copy does to `from`; every element of the result is written once.
std::vector<int> Copied(const Instruction& copy, const std::vector<int>& from) {
  std::vector<int> to(from.size(), -1);
  for (int64_t i = 0; i < copy.in[0].count(); ++i) {
    EXPECT_EQ(to[At(copy.out[0], i)], -1);
    to[At(copy.out[0], i)] = from[At(copy.in[0], i)];
  }
  return to;
}

// Four ranks hold three columns each of a matrix that counts up; gathered blocks unpack to the
// matrix.
TEST(LowerReshard, UnpackedGatherIsTheMatrix) {
  OneReshard g("all_gather", {{}, {1}}, {}, {1}, 1);
  const SegmentCode code = Lower(g);
  std::vector<int> gathered;
  for (int member = 0; member < 4; ++member) {
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < 3; ++column) gathered.push_back(row * 12 + member * 3 + column);
    }
  }
  std::vector<int> matrix(96);
  std::iota(matrix.begin(), matrix.end(), 0);
  EXPECT_EQ(Copied(code.instructions[1], gathered), matrix);
  OneReshard scatter("reduce_scatter", {}, {{}, {1}}, {1}, 1);
  EXPECT_EQ(Copied(Lower(scatter).instructions[0], matrix), gathered) << "the pack is its inverse";
}

}  // namespace
}  // namespace trireme
