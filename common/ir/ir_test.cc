// Attributes keep their order and types; a graph prints itself.
#include <gtest/gtest.h>

#include "common/ir/attrs.h"
#include "common/ir/graph.h"

namespace trireme {
namespace {

TEST(Attrs, SortedTypedAndPrintable) {
  Attrs attrs = {
      {"eps", 1e-5}, {"axes", std::vector<int64_t>{1, 2}}, {"kind", std::string("silu")}};
  attrs.Set("count", int64_t{3});
  EXPECT_EQ(attrs.ToText(), "{axes=(1,2), count=3, eps=1e-05, kind=silu}");
  EXPECT_EQ(attrs.GetInt("count"), 3);
  EXPECT_EQ(attrs.GetInt("missing", 7), 7);
  EXPECT_DEATH(attrs.GetDouble("count"), "another type");
}

TEST(Graph, Prints) {
  Graph graph;
  graph.name = "block";
  Value x{.name = "x", .dims = {{"batch", 2}}};
  const int a = graph.AddValue(x);
  x.name = "y";
  const int b = graph.AddValue(x);
  graph.AddNode(
      {.op = "scale", .attrs = {{"factor", 2.0}}, .inputs = {a}, .outputs = {b}, .region = "mlp"});
  EXPECT_EQ(graph.ToText(), "segment block\n  F %1:y[batch 2] = scale{factor=2}(%0) @mlp\n");
}

}  // namespace
}  // namespace trireme
