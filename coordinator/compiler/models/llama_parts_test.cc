// Llama's parts on their own: what meets the stream in which order, whose width an MLP has, and
// which segments a chain keeps.
#include "coordinator/compiler/models/llama_parts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "coordinator/compiler/models/tiny_models.h"

namespace trireme {
namespace {

class LlamaParts : public testing::Test {
 protected:
  const ModelSpec spec_ = TinyLlama();
  const MoeSpec moe_;
  const BatchShape shape_ = {.batch = 4, .position = 6};
  const ModelContext context_ = ModelContext(spec_, moe_, shape_, Purpose::kTrain);
};

TEST_F(LlamaParts, BranchesAreAddedInTheResidualRegionBeforeTheStream) {
  Graph graph;
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.EdgeIn("x", context_.Residual());
  b.SetRegion("mlp");
  const int one = b.Add1("scale", {{"factor", 2.0}}, {x}, "one");
  b.SetRegion("experts");
  const int two = b.Add1("scale", {{"factor", 3.0}}, {x}, "two");
  const int out = AddToStream(b, x, {one, two}, "branch", "x_out");
  ASSERT_EQ(CountNodes(graph, "add", Phase::kForward), 2);
  const Node& last = graph.nodes.back();
  EXPECT_EQ(last.outputs[0], out);
  EXPECT_EQ(last.inputs[0], x);
  const Node& sum = graph.nodes[graph.nodes.size() - 2];
  EXPECT_EQ(last.inputs[1], sum.outputs[0]);
  for (const int branch : sum.inputs) EXPECT_EQ(graph.value(branch).region, "residual");
}

TEST_F(LlamaParts, MlpHasThePrefixAndWidthItIsGiven) {
  Graph graph;
  GraphBuilder b(graph, Phase::kForward);
  const int h = b.EdgeIn("h", context_.Residual());
  const int y = SwigluMlp(b, context_, h, "shared.", 5);
  EXPECT_EQ(ToText(graph.value(y).dims), "[batch 4, position 6, embed 8]");
  EXPECT_EQ(TensorsText(graph),
            "shared.gate_proj.weight[embed 8, mlp 5] normal 0.02 decay @mlp\n"
            "shared.up_proj.weight[embed 8, mlp 5] normal 0.02 decay @mlp\n"
            "shared.down_proj.weight[mlp 5, embed 8] normal 0.02 decay @mlp\n");
}

TEST_F(LlamaParts, HeadsAreNormedOnlyWhenAsked) {
  for (const bool qk_norm : {false, true}) {
    Graph graph;
    GraphBuilder b(graph, Phase::kForward);
    AttentionBlock(b, context_, b.EdgeIn("x", context_.Residual()), {.qk_norm = qk_norm});
    EXPECT_EQ(CountNodes(graph, "rms_norm", Phase::kForward), qk_norm ? 3 : 1);
    EXPECT_EQ(CountNodes(graph, "rope", Phase::kForward), 2);
  }
}

TEST_F(LlamaParts, AttentionOptionsReachTheOps) {
  Graph graph;
  GraphBuilder b(graph, Phase::kForward);
  std::vector<Dim> dims = {
      context_.Batch(), context_.Position(), context_.Heads(), {"head_dim", 4}};
  const int q = b.Input("q", dims, DType::kFloat32);
  dims[2] = context_.KvHeads();
  const int k = b.Input("k", dims, DType::kFloat32);
  context_.Attention(b, q, k, k, {.rotary_dim = 2, .window = 3, .scale_mult = 2});
  const Attrs& attrs = OnlyNode(graph, "attention").attrs;
  EXPECT_EQ(attrs.GetInt("window"), 3);
  EXPECT_DOUBLE_EQ(attrs.GetDouble("scale"), 2 / std::sqrt(2.0)) << "of the model's head_dim";
  EXPECT_EQ(graph.nodes[0].attrs.GetInt("rotary_dim"), 2);
}

TEST_F(LlamaParts, ChainKeepsTheVariantsInTheOrderThatLayersMeetThem) {
  const std::vector<Graph> variants = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  const Model model = ChainOf(context_, {.name = "embed"}, variants, {.name = "head"},
                              [](int layer) { return layer == 0 ? 2 : 0; });
  EXPECT_EQ(ChainText(model), "embed:-1 c:0 a:1 head:-1 ");
  EXPECT_EQ(model.segments.size(), 4u) << "b is left out";
}

}  // namespace
}  // namespace trireme
