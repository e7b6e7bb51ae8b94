// What expansions write, on the experts of a small mixture: which collectives carry rows, what is
// predicated, and that nothing made inside a predicated section is used outside of it.
#include <algorithm>
#include <set>

#include "common/plan/program.h"
#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/models/tiny_models.h"
#include "coordinator/compiler/partition/partition.h"
#include "coordinator/compiler/partition/test_mesh.h"

namespace trireme {
namespace {

// The block of a tiny Mixtral for `shape`, partitioned.
Graph Block(TestMesh& t, ExpertDispatch dispatch, const BatchShape& shape, int64_t experts = 4) {
  ModelSpec spec = TinyMoe();
  spec.experts.num_experts = experts;
  StatusOr<Model> model = BuildModel(spec, {.dispatch = dispatch}, shape, Purpose::kTrain);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(AddBackward(model->segments[1], 1.0).ok());
  StatusOr<PartitionedSegment> parts = Partition(model->segments[1], t.axes, {});
  EXPECT_TRUE(parts.ok()) << parts.status();
  return parts.ok() ? std::move(parts->graph) : Graph();
}

int Count(const Graph& graph, std::string_view op, Phase phase, bool predicated) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
        return node.op == op && node.phase == phase && (node.predicate >= 0) == predicated;
      }));
}

constexpr Phase kF = Phase::kForward;
constexpr Phase kB = Phase::kBackward;

// One rank: one pool that holds every assignment, nothing to predicate.
TEST(ExpandExperts, OneRankHasOneWave) {
  TestMesh t({{"data", 1}});
  const Graph graph = Block(t, ExpertDispatch::kRing, {4, 6});
  EXPECT_EQ(Count(graph, "grouped_dot", kF, false), 3);
  EXPECT_EQ(Count(graph, "grouped_dot_grad", kB, false), 3);
  for (const Node& node : graph.nodes) EXPECT_EQ(node.predicate, -1) << node.op;
}

// Ring: tokens are gathered before and sums scattered after; waves exchange nothing.
TEST(ExpandExperts, RingMovesTokensOnceAround) {
  TestMesh t({{"data", 1}, {"expert", 2}});
  const Graph graph = Block(t, ExpertDispatch::kRing, {4, 6, 2, 1, 2});
  EXPECT_EQ(Count(graph, "all_to_all", kF, false) + Count(graph, "all_to_all", kF, true), 0);
  EXPECT_EQ(Count(graph, "reduce_scatter", kF, false), 1);
  for (const Node& node : graph.nodes) {
    if (node.phase != kF || !IsCollective(node.op)) continue;
    EXPECT_EQ(node.predicate, -1) << node.op;
  }
  EXPECT_EQ(Count(graph, "grouped_dot", kF, false), 3);
  EXPECT_EQ(Count(graph, "grouped_dot", kF, true), 3);  // a second wave
}

// All to all: rows there and back, forward and backward, in every wave; no tokens are gathered.
TEST(ExpandExperts, AllToAllMovesRows) {
  TestMesh t({{"data", 1}, {"expert", 2}});
  const Graph graph = Block(t, ExpertDispatch::kAllToAll, {4, 6, 2, 1, 2});
  EXPECT_EQ(Count(graph, "all_to_all", kF, false), 3);  // counts, rows, results
  EXPECT_EQ(Count(graph, "all_to_all", kF, true), 2);
  EXPECT_EQ(Count(graph, "all_to_all", kB, false), 2);
  EXPECT_EQ(Count(graph, "all_to_all", kB, true), 4);  // made again, and gradients
  EXPECT_EQ(Count(graph, "all_gather", kF, false), 0);
}

// A value that only a predicated node writes is read by nodes of the same or a stricter predicate.
TEST(ExpandExperts, NothingReadsWhatMayNotHaveRun) {
  for (const ExpertDispatch dispatch : {ExpertDispatch::kRing, ExpertDispatch::kAllToAll}) {
    TestMesh t({{"data", 2}, {"expert", 8}});
    const Graph graph = Block(t, dispatch, {16, 6, 16, 2, 8}, 8);
    std::vector<int> above(graph.values.size(), 0);  // the least that has run when it is there
    int waves = 0;
    for (const Node& node : graph.nodes) {
      const int level = node.predicate >= 0 ? node.above : 0;
      waves = std::max(waves, level);
      for (const int input : node.reads()) {
        EXPECT_LE(above[input], level) << node.op << " reads " << graph.value(input).name;
      }
      for (const int output : node.outputs) {
        if (!node.accumulate) above[output] = level;
      }
    }
    EXPECT_GE(waves, 2);
  }
}

}  // namespace
}  // namespace trireme
