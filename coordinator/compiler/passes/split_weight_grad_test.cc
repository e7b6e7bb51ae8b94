// What dx needs is B, what only parameters need is W, and values that cross live in SAVED.
#include "coordinator/compiler/passes/split_weight_grad.h"

#include <set>

#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/models/tiny_models.h"
#include "coordinator/compiler/partition/test_mesh.h"
#include "coordinator/compiler/passes/compile.h"

namespace trireme {
namespace {

class SplitWeightGradTest : public testing::Test {
 protected:
  SplitWeightGradTest()
      : t_({{"data", 2}, {"model", 2}}),
        model_(*BuildModel(TinyLlama(), {}, {4, 6}, Purpose::kTrain)) {
    for (Graph& segment : model_.segments) EXPECT_TRUE(AddBackward(segment, 1.0).ok());
  }
  Graph Split(int segment) {
    StatusOr<PartitionedSegment> part = Partition(model_.segments[segment], t_.axes, {});
    EXPECT_TRUE(part.ok()) << part.status();
    Graph graph = std::move(part->graph);
    SplitWeightGrad(graph);
    return graph;
  }
  TestMesh t_;
  Model model_;
};

TEST_F(SplitWeightGradTest, BlockKeepsInputGradientsInB) {
  const Graph graph = Split(1);
  std::set<int> made_in_w;
  int dots[2] = {};
  bool seen_w = false;
  for (const Node& node : graph.nodes) {
    const bool w = node.phase == Phase::kWeightGrad;
    seen_w = seen_w || w;
    if (seen_w) {
      EXPECT_TRUE(w) << node.op << " stands after W";
    }
    if (w) made_in_w.insert(node.outputs.begin(), node.outputs.end());
    if (node.op == "dot" && node.phase != Phase::kForward) ++dots[w];
    if (w) continue;
    for (const int input : node.inputs) EXPECT_EQ(made_in_w.count(input), 0u) << node.op;
  }
  EXPECT_EQ(dots[0], 7) << "one product a matrix for dx";
  EXPECT_EQ(dots[1], 7) << "one product a matrix for dw";
}

TEST_F(SplitWeightGradTest, EmbeddingHasNoInputGradient) {
  for (const Node& node : Split(0).nodes) EXPECT_NE(node.phase, Phase::kBackward) << node.op;
}

}  // namespace
}  // namespace trireme
