// Gathers into products and products into scatters become rings with the bytes of the collectives
// they replace; other collectives of the axes start early.
#include "coordinator/compiler/passes/overlap.h"

#include <map>

#include "common/base/math.h"
#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/models/tiny_models.h"
#include "coordinator/compiler/partition/partition.h"
#include "coordinator/compiler/partition/test_mesh.h"
#include "coordinator/compiler/passes/fuse_accumulate.h"
#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

// Bytes that one rank sends, by op.
std::map<std::string, int64_t> BytesSent(const Graph& graph, const Mesh& mesh) {
  std::map<std::string, int64_t> bytes;
  for (const Node& node : graph.nodes) {
    if (!IsCollective(node.op)) continue;
    std::vector<int> axes;
    for (const int64_t axis : node.attrs.GetInts("axes")) axes.push_back(static_cast<int>(axis));
    const int64_t n = mesh.GroupSize(axes);
    const auto size = [&](int id) {
      const Value& value = graph.value(id);
      return Product(LocalSizes(mesh, value.dims, value.sharding)) * SizeOf(value.dtype);
    };
    const int64_t in = size(node.inputs[0]);
    const int64_t out = size(node.outputs[0]);
    bytes[node.op] += node.op == "permute"      ? in
                      : node.op == "all_reduce" ? 2 * in * (n - 1) / n
                                                : std::max(in, out) * (n - 1) / n;
  }
  return bytes;
}

struct Block {
  explicit Block(int64_t ranks, const MappingConfig& config)
      : t({{"model", ranks}}, config),
        model(*BuildModel(TinyLlama(), {}, {4, 8}, Purpose::kTrain)) {
    for (Graph& segment : model.segments) EXPECT_TRUE(AddBackward(segment, 1.0).ok());
    StatusOr<PartitionedSegment> part = Partition(model.segments[1], t.axes, {});
    EXPECT_TRUE(part.ok()) << part.status();
    graph = std::move(part->graph);
    FuseAccumulate(graph);
  }
  TestMesh t;
  Model model;
  Graph graph;
};

TEST(Overlap, RingsSendWhatTheCollectivesSent) {
  for (const int64_t chunks : {1, 2}) {
    Block block(2, SequenceParallel());
    const std::map<std::string, int64_t> before = BytesSent(block.graph, block.t.mesh);
    ASSERT_GT(before.at("all_gather"), 0);
    Overlap(block.graph, block.t.mesh, {{0}, {0}, chunks});
    std::map<std::string, int64_t> after = BytesSent(block.graph, block.t.mesh);
    EXPECT_EQ(after["all_gather"], 0) << "all of them feed products";
    EXPECT_EQ(after["reduce_scatter"], 0) << "all of them take products";
    EXPECT_EQ(after["permute"], before.at("all_gather") + before.at("reduce_scatter"));
    EXPECT_EQ(after["all_reduce"], before.at("all_reduce")) << "gradients of norms";
  }
}

TEST(Overlap, EveryTransferIsFollowedByArithmetic) {
  Block block(2, SequenceParallel());
  Overlap(block.graph, block.t.mesh, {{0}, {0}, 1});
  int beside = 0;
  for (size_t i = 0; i + 1 < block.graph.nodes.size(); ++i) {
    const Node& node = block.graph.nodes[i];
    if (node.op != "permute") continue;
    EXPECT_TRUE(node.async);
    for (size_t j = i + 1; j < block.graph.nodes.size(); ++j) {
      const Node& next = block.graph.nodes[j];
      if (next.op == "permute" || next.op == "piece" || next.op == "rename") continue;
      for (const int input : next.inputs) EXPECT_NE(input, node.outputs[0]) << next.op;
      ++beside;
      break;
    }
  }
  EXPECT_EQ(beside, 10) << "two gathers and two scatters forward, four and two backward";
}

// all_reduce mode: the sum of dx travels while the weight's gradient is computed.
TEST(Overlap, ReductionOfInputGradientRunsBesideTheWeightGradient) {
  Block block(2, {});
  Overlap(block.graph, block.t.mesh, {{0}, {0}, 1});
  int found = 0;
  for (size_t i = 0; i + 1 < block.graph.nodes.size(); ++i) {
    const Node& node = block.graph.nodes[i];
    if (node.op != "all_reduce" || node.phase != Phase::kBackward) continue;
    EXPECT_TRUE(node.async);
    if (block.graph.nodes[i + 1].op == "dot") ++found;
  }
  EXPECT_GE(found, 1);
}

TEST(Overlap, NothingAskedNothingDone) {
  Block block(2, SequenceParallel());
  const std::string before = block.graph.ToText(&block.t.mesh);
  Overlap(block.graph, block.t.mesh, {});
  EXPECT_EQ(block.graph.ToText(&block.t.mesh), before);
}

}  // namespace
}  // namespace trireme
