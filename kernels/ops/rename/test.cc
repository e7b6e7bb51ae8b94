// rename: dims, its gradient back into the region, and refusal of dims that are not there or would
// be twice.
#include <gtest/gtest.h>

#include "kernels/ops/graph_builder.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(const std::string& pairs) {
  return {.op = "rename",
          .attrs = {{"dims", pairs}, {"from_region", "residual"}},
          .inputs = {Normal({{"batch", 2}, {"position", 3}})}};
}

TEST(Rename, GivesDimsNewNamesAndIsAView) {
  const auto types = InferCase(Case("position:key_position"));
  ASSERT_TRUE(types.ok()) << types.status().ToString();
  EXPECT_EQ(ToText((*types)[0].dims), "[batch 2, key_position 3]");
  EXPECT_TRUE(FindRule("rename").is_view);
}

TEST(Rename, TwoDimsCanChangeNames) {
  const auto types = InferCase(Case("position:batch,batch:position"));
  ASSERT_TRUE(types.ok()) << types.status().ToString();
  EXPECT_EQ(ToText((*types)[0].dims), "[position 2, batch 3]");
}

TEST(Rename, GradientGoesBackToTheRegionItCameFrom) {
  Graph graph;
  GraphBuilder builder(graph, Phase::kForward);
  builder.SetRegion("residual");
  const int x = builder.Input("x", {{"batch", 2}, {"position", 3}}, DType::kFloat32);
  const int y = builder.Rename(x, "attention", {{"position", "key_position"}}, "y");
  builder.SetRegion("attention");
  const int dy = builder.Input("dy", graph.value(y).dims, DType::kFloat32);
  const Node node = graph.nodes.back();
  GradArgs args{.builder = builder, .node = node, .output_grads = {dy}, .input_grads = {-1}};
  FindRule("rename").grad(args);
  const Value& dx = graph.value(args.input_grads[0]);
  EXPECT_EQ(dx.dims, graph.value(x).dims);
  EXPECT_EQ(dx.region, "residual");
  EXPECT_EQ(builder.region(), "attention");
}

TEST(Rename, RefusesUnknownAndRepeatedDims) {
  ExpectInferError(Case("embed:mlp"), "has no dim embed");
  ExpectInferError(Case("position:batch"), "two dims called batch");
  ExpectInferError(Case("position"), "from:to");
}

}  // namespace
}  // namespace trireme
