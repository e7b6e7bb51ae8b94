// The composite gradient's types.
#include <gtest/gtest.h>

#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

// Gradients look like x, weights and the three matrices.
TEST(ExpertMlpGrad, TakesTheForwardsOperandsAndOutputs) {
  Graph graph;
  GraphBuilder b(graph, Phase::kForward);
  const Dim batch{"batch", 2}, position{"position", 3}, choice{"choice", 2};
  const Dim expert{"expert", 4}, embed{"embed", 8}, mlp{"mlp", 6};
  std::vector<int> inputs = {b.Input("x", {batch, position, embed}, DType::kFloat32),
                             b.Input("ids", {batch, position, choice}, DType::kInt32),
                             b.Input("weights", {batch, position, choice}, DType::kFloat32),
                             b.Input("gate", {expert, embed, mlp}, DType::kFloat32),
                             b.Input("up", {expert, embed, mlp}, DType::kFloat32),
                             b.Input("down", {expert, mlp, embed}, DType::kFloat32)};
  const Attrs attrs = {
      {"num_experts", int64_t{4}}, {"expert_shards", int64_t{1}}, {"token_shards", int64_t{1}},
      {"capacity", int64_t{12}},   {"waves", int64_t{1}},         {"thin", int64_t{0}},
      {"choices", int64_t{2}},     {"all_to_all", int64_t{0}},    {"fill", 1.0}};
  const std::vector<int> outputs = b.Add("expert_mlp", attrs, inputs, "y");
  const Node node = graph.nodes.back();
  GradArgs args{b, node, std::vector<int>(outputs.size(), -1), std::vector<int>(6, -1)};
  args.output_grads[0] = b.Input("dy", {batch, position, embed}, DType::kFloat32);
  FindRule("expert_mlp").grad(args);
  for (const int i : {0, 2, 3, 4, 5}) {
    ASSERT_GE(args.input_grads[i], 0) << i;
    EXPECT_EQ(graph.value(args.input_grads[i]).dims, graph.value(inputs[i]).dims) << i;
  }
  EXPECT_EQ(args.input_grads[1], -1);
  Node short_of_one = graph.nodes.back();
  short_of_one.inputs.pop_back();
  EXPECT_FALSE(FindRule("expert_mlp_grad").infer(graph, short_of_one).ok());
}

}  // namespace
}  // namespace trireme
