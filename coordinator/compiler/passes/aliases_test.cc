// Which values share memory: views, contiguous slices, updates in place, and all-reduces that
// nobody else watches.
#include "coordinator/compiler/passes/aliases.h"

#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

const std::vector<Dim> kRows = {{"batch", 8}, {"embed", 12}};

TEST(Aliases, UnrelatedValuesAreTheirOwnRoots) {
  TestGraph g;
  const int x = g.Value(kRows);
  const int y = g.Value(kRows);
  g.Op("scale", {x}, {y});
  EXPECT_EQ(FindAliases(g.graph, g.mesh)[y].root, y);
}

TEST(Aliases, RenameIsAView) {
  TestGraph g;
  const int x = g.Value(kRows);
  const int y = g.Value(kRows);
  const int z = g.Value(kRows);
  g.Op("rename", {x}, {y});
  g.Op("rename", {y}, {z});
  const std::vector<Alias> aliases = FindAliases(g.graph, g.mesh);
  EXPECT_EQ(aliases[z].root, x);
  EXPECT_EQ(OffsetText(aliases[z].offset), "0");
}

// A slice of the outermost dim is a piece of its source: 12 / 4 ranks over model, 8 / 2 over data.
TEST(Aliases, SliceOfTheOutermostDimIsContiguous) {
  TestGraph g;
  const int x = g.Value(kRows);
  const int y = g.Value(kRows, {{0, 1}, {}});
  g.Reshard("slice", x, y, {0, 1}, 0);
  const std::vector<Alias> aliases = FindAliases(g.graph, g.mesh);
  EXPECT_EQ(aliases[y].root, x);
  EXPECT_EQ(OffsetText(aliases[y].offset), "0+12c1+48c0");
}

TEST(Aliases, SliceOfAnInnerDimIsACopy) {
  TestGraph g;
  const int x = g.Value(kRows);
  const int y = g.Value(kRows, {{}, {1}});
  g.Reshard("slice", x, y, {1}, 1);
  EXPECT_EQ(FindAliases(g.graph, g.mesh)[y].root, y);
}

// Dims of one element before it do not matter.
TEST(Aliases, SliceBehindDimsOfOneElementIsContiguous) {
  TestGraph g;
  const std::vector<Dim> dims = {{"batch", 2}, {"embed", 12}};
  const int x = g.Value(dims, {{0}, {}});
  const int y = g.Value(dims, {{0}, {1}});
  g.Reshard("slice", x, y, {1}, 1);
  const Alias alias = FindAliases(g.graph, g.mesh)[y];
  EXPECT_EQ(alias.root, x);
  EXPECT_EQ(OffsetText(alias.offset), "0+3c1");
}

TEST(Aliases, InPlaceOutputIsItsFirstInput) {
  TestGraph g;
  const int x = g.Value(kRows);
  const int y = g.Value(kRows);
  g.Op("adamw", {x}, {y}).in_place = true;
  EXPECT_EQ(FindAliases(g.graph, g.mesh)[y].root, x);
}

TEST(Aliases, BoundOutputsKeepTheirMemory) {
  TestGraph g;
  const int x = g.Value(kRows);
  const int grad = g.Value(kRows, {}, ValueKind::kGrad, 0);
  g.Op("rename", {x}, {grad});
  EXPECT_EQ(FindAliases(g.graph, g.mesh)[grad].root, grad);
}

// ---- all_reduce

struct AllReduce : TestGraph {
  explicit AllReduce(ValueKind kind = ValueKind::kTemp) {
    x = Value(kRows, {}, kind, kind == ValueKind::kTemp ? -1 : 0);
    y = Value(kRows);
    Reshard("all_reduce", x, y, {1}, -1);
  }
  bool InPlace() { return FindAliases(graph, mesh)[y].root == x; }
  int x, y;
};

TEST(Aliases, AllReduceOfItsOnlyReaderRunsInPlace) {
  AllReduce g;
  EXPECT_TRUE(g.InPlace());
}

TEST(Aliases, AllReduceOfAValueReadElsewhereDoesNot) {
  AllReduce g;
  g.Op("scale", {g.x}, {g.Value(kRows)});
  EXPECT_FALSE(g.InPlace());
}

TEST(Aliases, AllReduceOfAValueReadThroughAViewDoesNot) {
  AllReduce g;
  const int view = g.Value(kRows);
  g.Op("rename", {g.x}, {view});
  g.Op("scale", {view}, {g.Value(kRows)});
  EXPECT_FALSE(g.InPlace());
}

TEST(Aliases, AllReduceOfAnEdgeOrAParameterDoesNot) {
  AllReduce edge;
  edge.graph.edges_out = {edge.x};
  EXPECT_FALSE(edge.InPlace());
  AllReduce param(ValueKind::kParam);
  EXPECT_FALSE(param.InPlace());
}

TEST(Aliases, StartOfFollowsTheAxesMajorToMinor) {
  TestGraph g;
  const int x = g.Value(kRows, {{0, 1}, {}});
  EXPECT_EQ(OffsetText(StartOf(g.mesh, g.graph.value(x), 0)), "0+1c1+4c0");
  EXPECT_EQ(OffsetText(StartOf(g.mesh, g.graph.value(x), 1)), "0");
}

}  // namespace
}  // namespace trireme
