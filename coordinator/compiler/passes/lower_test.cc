// Where the values of a segment live, and kernel nodes as instructions.
#include "coordinator/compiler/passes/lower.h"

#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

const std::vector<Dim> kDims = {{"batch", 8}, {"embed", 12}};

SegmentCode Lower(TestGraph& g, const SegmentLayout& layout, Phase phase = Phase::kForward) {
  std::vector<Group> groups;
  int64_t scratch = 0;
  return LowerPhase(g.graph, g.mesh, layout, phase, CodePart::kBody, &groups, &scratch);
}

TEST(Lower, ValuesThatCrossPhasesAreSaved) {
  TestGraph g;
  const int x = g.Value(kDims, {{0}, {}}, ValueKind::kEdgeIn);
  const int kept = g.Value(kDims, {{0}, {}});
  const int local = g.Value(kDims, {{0}, {}});
  g.Op("scale", {x}, {kept});
  g.Op("scale", {kept}, {local});
  g.Op("scale", {local}, {g.Value(kDims, {{0}, {}})});
  g.Op("scale", {kept}, {g.Value(kDims, {{0}, {}})}, Phase::kBackward);
  const SegmentLayout layout = LayOutSegment(g.graph, g.mesh);
  EXPECT_EQ(layout.saved, (std::map<int, int64_t>{{kept, 0}}));
  EXPECT_EQ(layout.saved_bytes, 4 * 12 * 4);
  EXPECT_EQ(layout.gathered_bytes, 0);
  EXPECT_EQ(layout.binding.at(x), "edge_in:0");
  EXPECT_EQ(CodeText(Lower(g, layout, Phase::kBackward)),
            "scale(saved@0 4x12/12x1) -> scratch@0 4x12/12x1\n");
}

// What phase G makes is kept for the whole step.
TEST(Lower, GatheredValuesHaveAPoolOfTheirOwn) {
  TestGraph g;
  const int w = g.Value(kDims, {{0}, {}}, ValueKind::kParam, 0);
  const int whole = g.Value(kDims);
  g.Reshard("all_gather", w, whole, {0}, 0).phase = Phase::kGather;
  g.Op("scale", {whole}, {g.Value(kDims)});
  const SegmentLayout layout = LayOutSegment(g.graph, g.mesh);
  EXPECT_EQ(layout.gathered, (std::map<int, int64_t>{{whole, 0}}));
  EXPECT_EQ(layout.gathered_bytes, 8 * 12 * 4);
  EXPECT_EQ(layout.saved_bytes, 0);
}

TEST(Lower, BindingsNameTheirTensorAndSlot) {
  TestGraph g;
  const int param = g.Value(kDims, {}, ValueKind::kParam, 3);
  const int grad = g.Value(kDims, {}, ValueKind::kGrad, 3);
  const int reduced = g.Value(kDims, {}, ValueKind::kReducedGrad, 3);
  const int state = g.Value(kDims, {}, ValueKind::kState, 3);
  const int grad_edge = g.Value(kDims, {}, ValueKind::kGradEdgeOut);
  const int tokens = g.graph.AddValue({.name = "tokens", .kind = ValueKind::kInput});
  const int control = g.graph.AddValue({.name = "control", .kind = ValueKind::kScalars});
  const SegmentLayout layout = LayOutSegment(g.graph, g.mesh);
  const std::map<int, std::string> expected = {{param, "param:3"},
                                               {grad, "grad:3"},
                                               {reduced, "reduced:3"},
                                               {state, "state:3:0"},
                                               {grad_edge, "grad_edge_out:0"},
                                               {tokens, "input:tokens"},
                                               {control, "control"}};
  EXPECT_EQ(layout.binding, expected);
}

// An edge that is a view of the input, or handed on twice, gets memory of its own by a copy.
TEST(Lower, EdgesGetMemoryOfTheirOwn) {
  TestGraph g;
  const int x = g.Value(kDims, {}, ValueKind::kEdgeIn);
  const int made = g.Value(kDims);
  const int view = g.Value(kDims);
  g.Op("scale", {x}, {made});
  g.Op("rename", {x}, {view});
  g.graph.edges_out = {made, view, made};
  const SegmentLayout layout = LayOutSegment(g.graph, g.mesh);
  EXPECT_EQ(g.graph.edges_out[0], made);
  EXPECT_EQ(CodeText(Lower(g, layout)),
            "scale(edge_in:0@0 8x12/12x1) -> edge_out:0@0 8x12/12x1\n"
            "copy(edge_in:0@0 8x12/12x1) -> edge_out:1@0 8x12/12x1\n"
            "copy(edge_out:0@0 8x12/12x1) -> edge_out:2@0 8x12/12x1\n");
}

TEST(Lower, ViewsAreNoInstructions) {
  TestGraph g;
  g.Op("rename", {g.Value(kDims)}, {g.Value(kDims)});
  EXPECT_TRUE(Lower(g, LayOutSegment(g.graph, g.mesh)).instructions.empty());
}

// Ranks that repeat a value stay out of a sum: `owner` is 0 on exactly one of them.
TEST(Lower, OwnersBecomeAnIndexAttribute) {
  TestGraph g;
  const int loss = g.graph.AddValue({.name = "loss", .dtype = DType::kFloat64});
  const int reduce =
      g.graph.AddValue({.name = "reduce", .dtype = DType::kFloat64, .kind = ValueKind::kScalars});
  Node& node = g.Op("contribute", {loss}, {reduce});
  node.accumulate = true;
  node.attrs = {{"owner_axes", std::vector<int64_t>{0, 1}}, {"scalar_offset", int64_t{1}}};
  const SegmentCode code = Lower(g, LayOutSegment(g.graph, g.mesh));
  EXPECT_EQ(CodeText(code), "contribute(scratch@0 scalar/scalar) -> reduce@1 scalar/scalar +=\n");
  const Instruction& contribute = code.instructions[0];
  EXPECT_TRUE(contribute.attrs.entries().empty());
  ASSERT_EQ(contribute.index_attrs.size(), 1u);
  EXPECT_EQ(contribute.index_attrs[0].first, "owner");
  EXPECT_EQ(contribute.index_attrs[0].second.Evaluate({0, 0}), 0);
  EXPECT_NE(contribute.index_attrs[0].second.Evaluate({1, 0}), 0);
  EXPECT_NE(contribute.index_attrs[0].second.Evaluate({0, 2}), 0);
}

// A shard of the table knows its first row.
TEST(Lower, RulesNameTheRanksFirstIndex) {
  TestGraph g;
  const int table = g.Value({{"vocab", 16}, {"embed", 12}}, {{1}, {}}, ValueKind::kParam, 0);
  const int tokens = g.graph.AddValue({.name = "tokens",
                                       .dims = {{"batch", 8}},
                                       .dtype = DType::kInt32,
                                       .kind = ValueKind::kInput,
                                       .sharding = Replicated(1)});
  g.Op("embed_lookup", {table, tokens}, {g.Value(kDims)});
  const SegmentCode code = Lower(g, LayOutSegment(g.graph, g.mesh));
  ASSERT_EQ(code.instructions[0].index_attrs.size(), 1u);
  EXPECT_EQ(code.instructions[0].index_attrs[0].second.Evaluate({0, 3}), 12);
}

}  // namespace
}  // namespace trireme
