// The structure of the backward on small graphs: what is summed, seeded, dropped and handed on.
// That the numbers are right is shown by the gradient checks of each op and by tests/numerics.
#include "coordinator/compiler/autodiff/autodiff.h"

#include <gtest/gtest.h>

#include "coordinator/compiler/models/tiny_models.h"
#include "tests/support/golden.h"

namespace trireme {
namespace {

const Dim kBatch = {"batch", 4};
const Dim kEmbed = {"embed", 3};
const Dim kMlp = {"mlp", 5};

// A graph under construction with an edge x[batch, embed] and a parameter w[embed, mlp].
struct Small {
  Graph graph{.name = "small"};
  GraphBuilder b{graph, Phase::kForward};
  int x = b.EdgeIn("x", {kBatch, kEmbed});
  int w = b.Param({.name = "w", .dims = {kEmbed, kMlp}});
  int Dot(const std::string& name) { return b.Dot(x, w, {"batch", "mlp"}, name); }
};

const Node& ProducerOf(const Graph& graph, int value) {
  for (const Node& node : graph.nodes) {
    for (const int output : node.outputs) {
      if (output == value) return node;
    }
  }
  ADD_FAILURE() << "nothing makes value " << value;
  return graph.nodes[0];
}

std::string BackwardOps(const Graph& graph) {
  std::string ops;
  for (const Node& node : graph.nodes) {
    if (node.phase == Phase::kBackward) ops += (ops.empty() ? "" : " ") + node.op;
  }
  return ops;
}

TEST(Autodiff, GradientsHaveTheShapeOfWhatTheyAreOf) {
  Small small;
  small.graph.edges_out = {small.Dot("y")};
  ASSERT_TRUE(AddBackward(small.graph, 1.0).ok());
  const Graph& graph = small.graph;
  EXPECT_EQ(BackwardOps(graph), "dot dot");
  ASSERT_EQ(graph.grad_edges_out.size(), 1u);
  const Value& seed = graph.value(graph.grad_edges_out[0]);
  EXPECT_EQ(seed.kind, ValueKind::kGradEdgeOut);
  EXPECT_EQ(ToText(seed.dims), "[batch 4, mlp 5]");
  ASSERT_EQ(graph.grad_edges_in.size(), 1u);
  EXPECT_EQ(ToText(graph.value(graph.grad_edges_in[0]).dims), "[batch 4, embed 3]");
  ASSERT_EQ(graph.tensor_grads.size(), 1u);
  EXPECT_EQ(ToText(graph.value(graph.tensor_grads[0]).dims), "[embed 3, mlp 5]");
}

// y = x w and z = x w, out = y + z: both gradients of x and of w meet in an add.
TEST(Autodiff, ValueUsedTwiceSums) {
  Small small;
  small.graph.edges_out = {small.b.Add1("add", {}, {small.Dot("y"), small.Dot("z")}, "out")};
  ASSERT_TRUE(AddBackward(small.graph, 1.0).ok());
  const Node& dx = ProducerOf(small.graph, small.graph.grad_edges_in[0]);
  EXPECT_EQ(dx.op, "add");
  EXPECT_EQ(ProducerOf(small.graph, dx.inputs[0]).op, "dot");
  EXPECT_EQ(ProducerOf(small.graph, dx.inputs[1]).op, "dot");
  EXPECT_NE(dx.inputs[0], dx.inputs[1]);
  EXPECT_EQ(ProducerOf(small.graph, small.graph.tensor_grads[0]).op, "add");
  EXPECT_EQ(CountNodes(small.graph, "dot", Phase::kBackward), 4);
}

// Data needs no gradient: only dW is computed.
TEST(Autodiff, GradientOfDataIsDropped) {
  Graph graph{.name = "data"};
  GraphBuilder b(graph, Phase::kForward);
  const int x = b.Input("x", {kBatch, kEmbed}, DType::kFloat32);
  const int w = b.Param({.name = "w", .dims = {kEmbed, kMlp}});
  graph.edges_out = {b.Dot(x, w, {"batch", "mlp"}, "y")};
  ASSERT_TRUE(AddBackward(graph, 1.0).ok());
  EXPECT_EQ(BackwardOps(graph), "dot");
  EXPECT_TRUE(graph.grad_edges_in.empty());
  EXPECT_GE(graph.tensor_grads[0], 0);
}

TEST(Autodiff, ParameterWithoutInfluenceHasNoGradient) {
  Small small;
  const int v = small.b.Param({.name = "v", .dims = {kEmbed, kMlp}});
  small.b.Dot(small.x, v, {"batch", "mlp"}, "unused");
  small.graph.edges_out = {small.Dot("y")};
  ASSERT_TRUE(AddBackward(small.graph, 1.0).ok());
  EXPECT_GE(small.graph.tensor_grads[0], 0);
  EXPECT_EQ(small.graph.tensor_grads[1], -1);
  EXPECT_EQ(CountNodes(small.graph, "dot", Phase::kBackward), 2);
  EXPECT_EQ(CountNodes(small.graph, "dot", Phase::kForward), 2) << "the forward stays as it was";
}

TEST(Autodiff, LossIsSeeded) {
  const StatusOr<Model> model = BuildModel(TinyLlama(), {}, {4, 6}, Purpose::kTrain);
  ASSERT_TRUE(model.ok()) << model.status();
  Graph head = model->segments[2];
  ASSERT_TRUE(AddBackward(head, 0.125).ok());
  ASSERT_EQ(CountNodes(head, "fill", Phase::kBackward), 1);
  for (const Node& node : head.nodes) {
    if (node.op == "fill") {
      EXPECT_EQ(node.attrs.GetDouble("value"), 0.125);
    }
  }
  EXPECT_TRUE(head.grad_edges_out.empty());
  EXPECT_EQ(head.grad_edges_in.size(), 1u);
}

// Forward nodes keep their order and stand before the backward, which reads only what exists.
TEST(Autodiff, NodesStandInExecutionOrder) {
  for (const ModelSpec& spec : {TinyLlama(), TinyGpt2(), TinyMoe()}) {
    StatusOr<Model> model = BuildModel(spec, {}, {4, 6}, Purpose::kTrain);
    ASSERT_TRUE(model.ok()) << model.status();
    for (Graph& graph : model->segments) {
      ASSERT_TRUE(AddBackward(graph, 1.0).ok());
      std::vector<bool> exists(graph.values.size(), false);
      for (const Value& value : graph.values) exists[value.id] = value.kind != ValueKind::kTemp;
      bool backward = false;
      for (const Node& node : graph.nodes) {
        EXPECT_FALSE(backward && node.phase == Phase::kForward);
        backward = node.phase == Phase::kBackward;
        for (const int input : node.inputs)
          EXPECT_TRUE(exists[input]) << graph.name << " " << node.op;
        for (const int output : node.outputs) exists[output] = true;
      }
      for (size_t t = 0; t < graph.tensors.size(); ++t) {
        ASSERT_GE(graph.tensor_grads[t], 0) << graph.tensors[t].name;
        EXPECT_EQ(graph.value(graph.tensor_grads[t]).dims, graph.tensors[t].dims)
            << graph.tensors[t].name;
      }
    }
  }
}

TEST(Autodiff, OpWithoutGradientIsNamed) {
  Small small;
  small.graph.edges_out = {small.b.Add1("sum_squares", {}, {small.Dot("y")}, "s")};
  const Status status = AddBackward(small.graph, 1.0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.ToString().find("op sum_squares has no gradient"), std::string::npos) << status;
}

TEST(Autodiff, BlockIsGolden) {
  StatusOr<Model> model = BuildModel(TinyLlama(), {}, {4, 6}, Purpose::kTrain);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(AddBackward(model->segments[1], 1.0).ok());
  ExpectGolden("llama_block_backward", model->segments[1].ToText());
}

}  // namespace
}  // namespace trireme
