// The one formula on single nodes: partial over the split dims that an output lacks, and sums
// passed on where an op is linear.
#include "coordinator/compiler/partition/node_sharding.h"

#include "coordinator/compiler/partition/test_mesh.h"
#include "kernels/ops/graph_builder.h"

namespace trireme {
namespace {

const Dim kBatch = {"batch", 4};
const Dim kPosition = {"position", 6};
const Dim kEmbed = {"embed", 8};
const Dim kMlp = {"mlp", 12};

// One node over values of given shardings.
struct OneNode {
  explicit OneNode(TestMesh& t) : t(t) { b.SetRegion("mlp"); }
  int Add(const std::vector<Dim>& dims, Sharding sharding) {
    return graph.AddValue({.dims = dims, .region = "mlp", .sharding = std::move(sharding)});
  }
  int Whole(const std::vector<Dim>& dims) {
    return Add(dims, Replicated(static_cast<int>(dims.size())));
  }
  // "inputs -> outputs" of the last node.
  std::string Text() {
    const Node& node = graph.nodes.back();
    std::vector<ValueType> types;
    for (const int output : node.outputs)
      types.push_back({graph.value(output).dims, graph.value(output).dtype});
    const StatusOr<NodeSharding> sharding = ShardNode(t.axes, graph, node, types);
    if (!sharding.ok()) return sharding.status().ToString();
    std::string text;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      text += ToText(t.mesh, graph.value(node.inputs[i]).dims, sharding->inputs[i]) + " ";
    }
    text += "->";
    for (size_t i = 0; i < types.size(); ++i)
      text += " " + ToText(t.mesh, types[i].dims, sharding->outputs[i]);
    return text;
  }
  TestMesh& t;
  Graph graph;
  GraphBuilder b{graph, Phase::kForward};
};

TEST(NodeSharding, ColumnThenRowParallelDot) {
  TestMesh t({{"data", 2}, {"model", 2}});
  OneNode n(t);
  const int x = n.Whole({kBatch, kPosition, kEmbed});
  const int h = n.b.Dot(x, n.Whole({kEmbed, kMlp}), {"batch", "position", "mlp"}, "h");
  EXPECT_EQ(
      n.Text(),
      "[batch/data, position, embed] [embed, mlp/model] -> [batch/data, position, mlp/model]");
  n.b.Dot(h, n.Whole({kMlp, kEmbed}), {"batch", "position", "embed"}, "y");
  EXPECT_EQ(n.Text(),
            "[batch/data, position, mlp/model] [mlp/model, embed] -> [batch/data, position, embed] "
            "+SUM(model)");
}

TEST(NodeSharding, WeightGradientIsPartialOverData) {
  TestMesh t({{"replica", 2}, {"data", 2}, {"model", 2}});
  OneNode n(t);
  n.b.Dot(n.Whole({{"batch", 8}, kPosition, kEmbed}), n.Whole({{"batch", 8}, kPosition, kMlp}),
          {"embed", "mlp"}, "dw");
  EXPECT_EQ(n.Text(),
            "[batch/(replica,data), position, embed] [batch/(replica,data), position, mlp/model] "
            "-> [embed, mlp/model] "
            "+SUM(replica, data)");
}

// Two values that are partial alike are added before the sum is resolved.
TEST(NodeSharding, AddOfAlikePartialsStaysPartial) {
  TestMesh t({{"model", 2}});
  OneNode n(t);
  Sharding partial = Replicated(2);
  partial.partial = {{0, ReduceKind::kSum}};
  n.b.Add1("add", {}, {n.Add({kBatch, kEmbed}, partial), n.Add({kBatch, kEmbed}, partial)}, "sum");
  EXPECT_EQ(n.Text(),
            "[batch, embed] +SUM(model) [batch, embed] +SUM(model) -> [batch, embed] +SUM(model)");
}

TEST(NodeSharding, AddOfPartialAndWholeResolvesFirst) {
  TestMesh t({{"model", 2}});
  OneNode n(t);
  Sharding partial = Replicated(2);
  partial.partial = {{0, ReduceKind::kSum}};
  n.b.Add1("add", {}, {n.Add({kBatch, kEmbed}, partial), n.Whole({kBatch, kEmbed})}, "sum");
  EXPECT_EQ(n.Text(), "[batch, embed] [batch, embed] -> [batch, embed]");
}

// Maxima are not linear.
TEST(NodeSharding, AddOfMaximaResolvesFirst) {
  TestMesh t({{"model", 2}});
  OneNode n(t);
  Sharding partial = Replicated(2);
  partial.partial = {{0, ReduceKind::kMax}};
  n.b.Add1("add", {}, {n.Add({kBatch, kEmbed}, partial), n.Add({kBatch, kEmbed}, partial)}, "sum");
  EXPECT_EQ(n.Text(), "[batch, embed] [batch, embed] -> [batch, embed]");
}

// dot is linear in each operand: one may stay partial over an axis that the node does not use.
TEST(NodeSharding, DotPassesOnePartialOperand) {
  TestMesh t({{"model", 2}, {"expert", 3}});
  OneNode n(t);
  Sharding partial = Replicated(2);
  partial.partial = {{1, ReduceKind::kSum}};
  const int x = n.Add({kPosition, kEmbed}, partial);
  n.b.Dot(x, n.Whole({kEmbed, kMlp}), {"position", "mlp"}, "y");
  EXPECT_EQ(
      n.Text(),
      "[position, embed] +SUM(expert) [embed, mlp/model] -> [position, mlp/model] +SUM(expert)");
  n.b.Dot(x, n.Add({kEmbed, {"head_dim", 2}}, partial), {"position", "head_dim"}, "both partial");
  EXPECT_EQ(n.Text(), "[position, embed] [embed, head_dim] -> [position, head_dim]");
}

TEST(NodeSharding, DotResolvesAPartialOverAnAxisItUses) {
  TestMesh t({{"model", 2}});
  OneNode n(t);
  Sharding partial = Replicated(2);
  partial.partial = {{0, ReduceKind::kSum}};
  n.b.Dot(n.Add({kPosition, kEmbed}, partial), n.Whole({kEmbed, kMlp}), {"position", "mlp"}, "y");
  EXPECT_EQ(n.Text(), "[position, embed] [embed, mlp/model] -> [position, mlp/model]");
}

// A norm needs its last dim whole, whatever the mapping says.
TEST(NodeSharding, WholeDimsTakeNoAxis) {
  MappingConfig config;
  config.compute["embed"] = {"model"};
  TestMesh t({{"model", 2}}, config);
  OneNode n(t);
  n.b.Add("rms_norm", {{"eps", 1e-5}}, {n.Whole({kPosition, kEmbed}), n.Whole({kEmbed})}, "normed");
  EXPECT_EQ(n.Text(), "[position, embed] [embed] -> [position, embed] [position]");
}

TEST(NodeSharding, TwoDimsOnOneAxisAreAnError) {
  MappingConfig config;
  config.compute["mlp/position"] = {"model"};
  TestMesh t({{"model", 2}}, config);
  OneNode n(t);
  n.b.Dot(n.Whole({kPosition, kEmbed}), n.Whole({kEmbed, kMlp}), {"position", "mlp"}, "y");
  EXPECT_NE(n.Text().find("dot: dims position and mlp both want axis model"), std::string::npos)
      << n.Text();
}

TEST(NodeSharding, OwnersAreTheFirstOfEachRepeat) {
  TestMesh t({{"stage", 2}, {"data", 2}, {"model", 2}});
  Sharding split = Replicated(1);
  split.dim_axes[0] = {1};
  EXPECT_EQ(OwnerAxes(t.mesh, split, {}), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(OwnerAxes(t.mesh, split, {0}), std::vector<int64_t>{2});
}

TEST(NodeSharding, ReasonsNameTheEntries) {
  TestMesh t({{"data", 2}, {"model", 2}});
  Graph graph;
  graph.tensors = {{.name = "w", .dims = {kEmbed, kMlp}, .region = "mlp"}};
  const Sharding stored = {.dim_axes = {{0}, {1}}, .partial = {}};
  const int w = graph.AddValue({.name = "w",
                                .dims = {kEmbed, kMlp},
                                .kind = ValueKind::kParam,
                                .region = "mlp",
                                .tensor = 0,
                                .sharding = stored});
  EXPECT_EQ(ParamEntries(t.axes, graph, w),
            "param_mapping embed: data (default); shared_mapping mlp: model (default)");
  EXPECT_EQ(ReshardReason(t.axes, graph, w, {}, graph.value(w).region, Replicated(2)),
            "stored as " + ParamEntries(t.axes, graph, w));
  EXPECT_EQ(GradientReason(t.axes, graph, 0, "reduce: step"),
            "gradient of w (reduce: step; param_mapping embed: data (default); shared_mapping mlp: "
            "model (default))");
  Sharding partial = Replicated(2);
  partial.partial = {{1, ReduceKind::kSum}};
  const int y = graph.AddValue(
      {.name = "y", .dims = {kBatch, kEmbed}, .region = "residual", .sharding = partial});
  EXPECT_EQ(ReshardReason(t.axes, graph, y, {}, graph.value(y).region, Replicated(2)),
            "sum over model");
  const SumOrigins origins = {{1, "mlp contracted"}};
  EXPECT_EQ(ReshardReason(t.axes, graph, y, origins, graph.value(y).region, Replicated(2)),
            "sum over model: mlp contracted");
  EXPECT_EQ(ReshardReason(t.axes, graph, y, origins, graph.value(y).region, partial), "")
      << "kept sums need no reason";
  EXPECT_EQ(ReshardReason(t.axes, graph, y, {}, graph.value(y).region,
                          {.dim_axes = {{0}, {}}, .partial = {}}),
            "sum over model; batch is split again (compute_mapping batch: (replica_dcn, replica, "
            "data) (default))");
}

}  // namespace
}  // namespace trireme
