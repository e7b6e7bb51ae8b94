// The builder infers types, names einsum letters by dim, and renames dims without a kernel.
#include "kernels/ops/graph_builder.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

class GraphBuilderTest : public testing::Test {
 protected:
  GraphBuilderTest() : builder_(graph_, Phase::kForward) { builder_.SetRegion("mlp"); }
  Graph graph_;
  GraphBuilder builder_;
};

TEST_F(GraphBuilderTest, DotLettersFollowDimNames) {
  const int x = builder_.EdgeIn("x", {{"batch", 2}, {"embed", 3}});
  const int w = builder_.Param({.name = "w", .dims = {{"embed", 3}, {"mlp", 5}}});
  const int y = builder_.Dot(x, w, {"batch", "mlp"}, "y");
  EXPECT_EQ(graph_.nodes[0].attrs.GetString("equation"), "ab,bc->ac");
  EXPECT_EQ(ToText(graph_.value(y).dims), "[batch 2, mlp 5]");
  EXPECT_EQ(graph_.nodes[0].region, "mlp");
}

TEST_F(GraphBuilderTest, RenameMovesRegionsAndKeepsTheCurrentOne) {
  const int x = builder_.EdgeIn("x", {{"batch", 2}, {"position", 3}});
  const int k = builder_.Rename(x, "attention", {{"position", "key_position"}}, "k");
  EXPECT_EQ(ToText(graph_.value(k).dims), "[batch 2, key_position 3]");
  EXPECT_EQ(graph_.value(k).region, "attention");
  EXPECT_EQ(graph_.nodes[0].attrs.GetString("from_region"), "residual");
  EXPECT_EQ(builder_.region(), "mlp");
}

TEST_F(GraphBuilderTest, InputsOfOneNameAreOneValue) {
  const int a = builder_.Input("tokens", {{"batch", 2}}, DType::kInt32);
  EXPECT_EQ(builder_.Input("tokens", {{"batch", 2}}, DType::kInt32), a);
}

TEST_F(GraphBuilderTest, RefusedTypesAreOurBug) {
  const int a = builder_.EdgeIn("a", {{"batch", 2}});
  const int b = builder_.EdgeIn("b", {{"batch", 3}});
  EXPECT_DEATH(builder_.Add1("add", {}, {a, b}, "c"), "batch");
}

}  // namespace
}  // namespace trireme
