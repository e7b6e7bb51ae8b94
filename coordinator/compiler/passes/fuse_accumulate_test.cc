// Gradients go straight into their accumulators where the kernel can add and nobody else reads
// them.
#include "coordinator/compiler/passes/fuse_accumulate.h"

#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

const std::vector<Dim> kDims = {{"embed", 8}, {"mlp", 12}};

// dw = dot(x, dy); grad += dw.
struct WeightGradient : TestGraph {
  WeightGradient() {
    x = Value(kDims);
    dw = Value(kDims);
    grad = Value(kDims, {}, ValueKind::kGrad, 0);
    Op("dot", {x, x}, {dw}, Phase::kBackward);
  }
  void Accumulate(int value) {
    Op("accumulate", {value}, {grad}, Phase::kBackward).accumulate = true;
  }
  std::string Fused() {
    FuseAccumulate(graph);
    std::string text;
    for (const Node& node : graph.nodes) text += node.op + (node.accumulate ? "+= " : " ");
    return text;
  }
  int x, dw, grad;
};

TEST(FuseAccumulate, DotAddsIntoTheAccumulator) {
  WeightGradient g;
  g.Accumulate(g.dw);
  EXPECT_EQ(g.Fused(), "dot+= ");
  EXPECT_EQ(g.graph.nodes[0].outputs, std::vector<int>{g.grad});
}

TEST(FuseAccumulate, NotWhenAnotherReads) {
  WeightGradient g;
  g.Accumulate(g.dw);
  g.Op("scale", {g.dw}, {g.Value(kDims)}, Phase::kBackward);
  EXPECT_EQ(g.Fused(), "dot accumulate+= scale ");
}

TEST(FuseAccumulate, NotWhenItLeavesTheSegment) {
  WeightGradient g;
  g.Accumulate(g.dw);
  g.graph.grad_edges_in = {g.dw};
  EXPECT_EQ(g.Fused(), "dot accumulate+= ");
}

TEST(FuseAccumulate, NotThroughACollective) {
  WeightGradient g;
  const int reduced = g.Value(kDims);
  g.Reshard("all_reduce", g.dw, reduced, {0}, -1).phase = Phase::kBackward;
  g.Accumulate(reduced);
  EXPECT_EQ(g.Fused(), "dot all_reduce accumulate+= ");
}

// layer_norm_grad adds into both of its gradients or into none.
TEST(FuseAccumulate, AllAccumulatingOutputsOrNone) {
  for (const bool both : {true, false}) {
    TestGraph g;
    const int dx = g.Value(kDims);
    const int dw = g.Value({{"embed", 8}});
    const int db = g.Value({{"embed", 8}});
    const int grad_w = g.Value({{"embed", 8}}, {}, ValueKind::kGrad, 0);
    const int grad_b = g.Value({{"embed", 8}}, {}, ValueKind::kGrad, 1);
    g.Op("layer_norm_grad", {}, {dx, dw, db}, Phase::kBackward);
    g.Op("accumulate", {dw}, {grad_w}, Phase::kBackward).accumulate = true;
    if (both) g.Op("accumulate", {db}, {grad_b}, Phase::kBackward).accumulate = true;
    FuseAccumulate(g.graph);
    EXPECT_EQ(g.graph.nodes[0].accumulate, both);
    EXPECT_EQ(g.graph.nodes.size(), both ? 1u : 2u);
    EXPECT_EQ(g.graph.nodes[0].outputs,
              both ? std::vector<int>({dx, grad_w, grad_b}) : std::vector<int>({dx, dw, db}));
  }
}

}  // namespace
}  // namespace trireme
