// With remat the backward of a block reads parameters, inputs and edges only; collectives are
// recomputed once each.
#include "coordinator/compiler/passes/rematerialize.h"

#include <set>

#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/models/tiny_models.h"
#include "coordinator/compiler/partition/partition.h"
#include "coordinator/compiler/partition/test_mesh.h"
#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

Graph Block(const ModelSpec& spec, TestMesh& t) {
  StatusOr<Model> model = BuildModel(spec, {}, {4, 6}, Purpose::kTrain);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(AddBackward(model->segments[1], 1.0).ok());
  const StatusOr<PartitionedSegment> parts = Partition(model->segments[1], t.axes, {});
  EXPECT_TRUE(parts.ok()) << parts.status();
  return parts->graph;
}

// Temporaries that the forward makes and the backward reads.
std::set<int> Saved(const Graph& graph) {
  std::set<int> made;
  std::set<int> saved;
  for (const Node& node : graph.nodes) {
    if (node.phase == Phase::kForward) made.insert(node.outputs.begin(), node.outputs.end());
    if (node.phase != Phase::kBackward) continue;
    for (const int input : node.inputs) {
      if (made.count(input) > 0) saved.insert(input);
    }
  }
  return saved;
}

std::string ForwardText(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (node.phase == Phase::kForward) text += node.op + node.attrs.ToText() + " ";
  }
  return text;
}

class Rematerialized : public testing::TestWithParam<ModelSpec> {};

TEST_P(Rematerialized, BackwardReadsNothingOfTheForward) {
  TestMesh t({{"data", 2}, {"model", 2}}, SequenceParallel());
  Graph graph = Block(GetParam(), t);
  EXPECT_FALSE(Saved(graph).empty());
  const std::string forward = ForwardText(graph);
  Rematerialize(graph);
  EXPECT_TRUE(Saved(graph).empty());
  EXPECT_EQ(ForwardText(graph), forward) << "the forward itself stays";
}

// Each value is written before it is read, once.
TEST_P(Rematerialized, NodesStandInExecutionOrder) {
  TestMesh t({{"data", 2}, {"model", 2}}, SequenceParallel());
  Graph graph = Block(GetParam(), t);
  Rematerialize(graph);
  std::set<int> exists;
  for (const Value& value : graph.values) {
    if (value.kind != ValueKind::kTemp) exists.insert(value.id);
  }
  for (const Node& node : graph.nodes) {
    for (const int input : node.inputs)
      EXPECT_TRUE(exists.count(input) > 0) << node.op << " reads %" << input;
    for (const int output : node.outputs) {
      const bool added = exists.insert(output).second;
      EXPECT_TRUE(added || graph.value(output).kind != ValueKind::kTemp) << node.op;
    }
  }
  for (const int edge : graph.grad_edges_in) EXPECT_TRUE(exists.count(edge) > 0);
}

// A parameter is gathered once for the recomputed forward and the gradient together.
TEST_P(Rematerialized, CollectivesOfTheBackwardAreDistinct) {
  TestMesh t({{"data", 2}, {"model", 2}}, SequenceParallel());
  Graph graph = Block(GetParam(), t);
  Rematerialize(graph);
  std::set<std::string> seen;
  for (const Node& node : graph.nodes) {
    if (node.phase != Phase::kBackward || !IsCollective(node.op)) continue;
    EXPECT_TRUE(seen.insert(node.op + node.attrs.ToText() + ListText({node.inputs[0]})).second)
        << node.op << " of " << graph.value(node.inputs[0]).name << " runs twice";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Rematerialized, testing::Values(TinyLlama(), TinyGpt2()),
                         [](const auto& info) { return info.param.type; });

TEST(Rematerialize, KeepsAForwardOnlyGraph) {
  TestGraph g;
  g.Op("scale", {g.Value({{"embed", 8}})}, {g.Value({{"embed", 8}})});
  Rematerialize(g.graph);
  EXPECT_EQ(g.graph.nodes.size(), 1u);
}

// What the backward does not need is not computed again.
TEST(Rematerialize, ClonesOnlyWhatIsNeeded) {
  TestGraph g;
  const int x = g.Value({{"embed", 8}}, {}, ValueKind::kEdgeIn);
  const int y = g.Value({{"embed", 8}});
  const int z = g.Value({{"embed", 8}});
  g.Op("scale", {x}, {y});
  g.Op("scale", {y}, {z});
  g.Op("mul", {y, y}, {g.Value({{"embed", 8}})}, Phase::kBackward);
  Rematerialize(g.graph);
  ASSERT_EQ(g.graph.nodes.size(), 4u);
  EXPECT_EQ(g.graph.nodes[2].op, "scale");
  EXPECT_EQ(g.graph.nodes[2].phase, Phase::kBackward);
  EXPECT_EQ(g.graph.nodes[2].reason, "recomputed (remat: block)");
  EXPECT_EQ(g.graph.nodes[3].inputs, std::vector<int>(2, g.graph.nodes[2].outputs[0]));
}

// Two nodes that add into one value, the second where a count asks for it: the clones do the same
// to one clone, and ask the clone of the count.
TEST(Rematerialize, KeepsSumsAndPredicates) {
  TestGraph t;
  const Dim embed = {"embed", 4};
  const int x = t.Value({embed}, {}, ValueKind::kEdgeIn);
  const int count = t.Value({});
  const int sum = t.Value({embed});
  const int dx = t.Value({embed});
  t.Op("count", {x}, {count});
  t.Op("scale", {x}, {sum});
  Node& more = t.Op("scale", {x}, {sum});
  more.accumulate = true;
  more.predicate = count;
  more.above = 2;
  t.Op("mul", {x, sum}, {dx}, Phase::kBackward);
  t.graph.grad_edges_in = {dx};
  Rematerialize(t.graph);
  std::vector<Node> clones;
  for (const Node& node : t.graph.nodes) {
    if (node.phase == Phase::kBackward) clones.push_back(node);
  }
  ASSERT_EQ(clones.size(), 4u);
  EXPECT_NE(clones[0].outputs[0], count);
  EXPECT_NE(clones[1].outputs[0], sum);
  EXPECT_EQ(clones[2].outputs, clones[1].outputs);
  EXPECT_EQ(clones[2].predicate, clones[0].outputs[0]);
  EXPECT_EQ(clones[2].above, 2);
  EXPECT_TRUE(clones[2].accumulate);
  EXPECT_EQ(clones[3].inputs[1], clones[1].outputs[0]);
}

}  // namespace
}  // namespace trireme
