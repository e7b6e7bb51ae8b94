// Sums over DCN become exchanges of payloads; others stay.
#include "coordinator/compiler/passes/compress.h"

#include "coordinator/compiler/passes/test_graph.h"
#include "kernels/ops/quantize_blocks/layout.h"

namespace trireme {
namespace {

class CompressTest : public testing::Test {
 protected:
  CompressTest() : g_({{"data", 2}, {"replica_dcn", 2, Fabric::kDcn}}) {
    x_ = g_.Value({{"embed", 1000}}, {}, ValueKind::kGrad, 0);
    y_ = g_.Value({{"embed", 1000}});
    Node& node = g_.Reshard("all_reduce", x_, y_, {1}, -1);
    node.phase = Phase::kUpdate1;
  }
  TestGraph g_;
  int x_ = -1, y_ = -1;
};

TEST_F(CompressTest, ASumOverSlicesBecomesTwoExchanges) {
  Compress(g_.graph, g_.mesh, Compression::kInt8, 2);
  std::string ops;
  int64_t sent = 0;
  for (const Node& node : g_.graph.nodes) {
    ops += node.op + " ";
    if (node.op == "all_to_all") sent += g_.graph.value(node.inputs[0]).dims[0].size / 2;
    if (node.op == "all_gather") sent += g_.graph.value(node.inputs[0]).dims[0].size;
  }
  EXPECT_EQ(ops,
            "quantize_blocks all_to_all dequantize_blocks quantize_blocks all_gather "
            "dequantize_blocks ");
  // 500 elements are 2 blocks of 256 bytes and a scale.
  EXPECT_EQ(sent, 2 * PayloadBytes(BlockFormat::kInt8, 500, 256, 1));
  EXPECT_EQ(g_.graph.nodes.back().outputs[0], y_);
  std::vector<int> slots;
  for (const Value& value : g_.graph.values) {
    if (value.kind == ValueKind::kState) slots.push_back(value.slot);
  }
  EXPECT_EQ(slots, (std::vector<int>{2, 3}));
}

TEST_F(CompressTest, SumsInsideASliceAndOtherPhasesStay) {
  g_.graph.nodes[0].attrs.Set("axes", std::vector<int64_t>{0});
  Compress(g_.graph, g_.mesh, Compression::kBf16, 0);
  EXPECT_EQ(g_.graph.nodes.size(), 1u);
  g_.graph.nodes[0].attrs.Set("axes", std::vector<int64_t>{1});
  g_.graph.nodes[0].phase = Phase::kBackward;
  Compress(g_.graph, g_.mesh, Compression::kBf16, 0);
  EXPECT_EQ(g_.graph.nodes.size(), 1u);
}

TEST_F(CompressTest, NoneChangesNothing) {
  Compress(g_.graph, g_.mesh, Compression::kNone, 0);
  EXPECT_EQ(g_.graph.nodes.size(), 1u);
}

}  // namespace
}  // namespace trireme
