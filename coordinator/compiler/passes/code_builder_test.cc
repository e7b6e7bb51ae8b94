// Views, bindings, temporaries and groups of one piece of code.
#include "coordinator/compiler/passes/code_builder.h"

#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

const std::vector<Dim> kDims = {{"batch", 8}, {"embed", 12}};

struct Built : TestGraph {
  SegmentLayout layout;
  // Call once all values exist.
  void LayOut() { layout.aliases = FindAliases(graph, mesh); }
};

TEST(CodeBuilder, ViewsAreDenseInLocalSizes) {
  Built g;
  const int x = g.Value(kDims, {{0}, {1}}, ValueKind::kParam, 0);
  g.LayOut();
  g.layout.binding[x] = "param:0";
  CodeBuilder code(g.graph, g.mesh, g.layout);
  code.Append({.op = "scale", .in = {code.ViewOf(x)}});
  int64_t scratch = 0;
  const SegmentCode done = code.Finish("g.F", Phase::kForward, &scratch);
  EXPECT_EQ(CodeText(done), "scale(param:0@0 4x3/3x1) ->\n");
  EXPECT_EQ(done.name, "g.F");
  EXPECT_EQ(scratch, 0);
}

// Saved values have byte offsets; a view counts elements.
TEST(CodeBuilder, SavedAndGatheredValuesHaveOffsets) {
  Built g;
  const int saved = g.Value(kDims);
  const int gathered = g.Value(kDims);
  g.LayOut();
  g.layout.saved[saved] = 128;
  g.layout.gathered[gathered] = 64;
  CodeBuilder code(g.graph, g.mesh, g.layout);
  code.Append({.op = "add", .in = {code.ViewOf(saved), code.ViewOf(gathered)}});
  int64_t scratch = 0;
  EXPECT_EQ(CodeText(code.Finish("g.F", Phase::kForward, &scratch)),
            "add(saved@32 8x12/12x1, gathered@16 8x12/12x1) ->\n");
}

// A slice is a view of its source at an offset that depends on the rank.
TEST(CodeBuilder, AliasesAreViewsOfTheirRoot) {
  Built g;
  const int x = g.Value(kDims);
  const int y = g.Value(kDims, {{0}, {}});
  g.Reshard("slice", x, y, {0}, 0);
  g.LayOut();
  CodeBuilder code(g.graph, g.mesh, g.layout);
  EXPECT_FALSE(code.SameMemory(x, y));
  EXPECT_TRUE(code.SameMemory(x, x));
  code.Append({.op = "scale", .in = {code.ViewOf(y)}, .out = {code.ViewOf(x)}});
  int64_t scratch = 0;
  EXPECT_EQ(CodeText(code.Finish("g.F", Phase::kForward, &scratch)),
            "scale(scratch@0+48c0 4x12/12x1) -> scratch@0 8x12/12x1\n");
  EXPECT_EQ(scratch, 8 * 12 * 4);
}

TEST(CodeBuilder, TemporariesReuseScratch) {
  Built g;
  std::vector<int> chain;
  for (int i = 0; i < 4; ++i) chain.push_back(g.Value({{"embed", 16}}));
  g.LayOut();
  CodeBuilder code(g.graph, g.mesh, g.layout);
  for (int i = 0; i < 3; ++i)
    code.Append({.op = "scale", .in = {code.ViewOf(chain[i])}, .out = {code.ViewOf(chain[i + 1])}});
  int64_t scratch = 0;
  const SegmentCode done = code.Finish("g.F", Phase::kForward, &scratch);
  EXPECT_EQ(scratch, 2 * 64);
  EXPECT_EQ(CodeText(done),
            "scale(scratch@0 16/1) -> scratch@16 16/1\n"
            "scale(scratch@16 16/1) -> scratch@0 16/1\n"
            "scale(scratch@0 16/1) -> scratch@16 16/1\n");
}

// Scratch is what the hungriest code needs.
TEST(CodeBuilder, ScratchOnlyGrows) {
  Built g;
  g.LayOut();
  CodeBuilder code(g.graph, g.mesh, g.layout);
  const View temp = code.NewTemp({2, 8}, DType::kFloat64);
  code.Append({.op = "fill", .out = {temp}});
  int64_t scratch = 1000;
  const SegmentCode done = code.Finish("g.F", Phase::kForward, &scratch);
  EXPECT_EQ(scratch, 1000);
  EXPECT_EQ(CodeText(done), "fill() -> scratch@0 2x8/8x1\n");
}

TEST(CodeBuilder, ScalarsAreReachedByOffset) {
  Built g;
  const int reduce =
      g.graph.AddValue({.name = "reduce", .dtype = DType::kFloat64, .kind = ValueKind::kScalars});
  g.LayOut();
  g.layout.binding[reduce] = "reduce";
  CodeBuilder code(g.graph, g.mesh, g.layout);
  code.Append({.op = "contribute", .out = {code.ViewOf(reduce, 2)}});
  int64_t scratch = 0;
  EXPECT_EQ(CodeText(code.Finish("g.F", Phase::kForward, &scratch)),
            "contribute() -> reduce@2 scalar/scalar\n");
}

TEST(CodeBuilder, GroupsAreAddedOnce) {
  Built g;
  g.LayOut();
  CodeBuilder code(g.graph, g.mesh, g.layout);
  EXPECT_EQ(code.GroupIndex({.axes = {0}}), 0);
  EXPECT_EQ(code.GroupIndex({.axes = {1}}), 1);
  EXPECT_EQ(code.GroupIndex({.axes = {0}}), 0);
  EXPECT_EQ(code.GroupIndex({.axes = {0}, .members = {0, 1}}), 2);
  EXPECT_EQ(code.groups().size(), 3u);
}

}  // namespace
}  // namespace trireme
