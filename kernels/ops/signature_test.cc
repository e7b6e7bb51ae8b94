// Signatures: what binds, what is refused and with which words.
#include "kernels/ops/signature.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

Node AddInputs(Graph& graph, const std::vector<Value>& values) {
  Node node{.op = "op"};
  for (const Value& value : values) node.inputs.push_back(graph.AddValue(value));
  return node;
}

std::string Refusal(const std::vector<Value>& values, std::string_view signature) {
  Graph graph;
  const Node node = AddInputs(graph, values);
  const StatusOr<Binding> binding = BindOperands(graph, node, signature);
  return binding.ok() ? "accepted" : std::string(ToStd(binding.status().message()));
}

const Value kX = {.name = "x", .dims = {{"batch", 2}, {"position", 3}, {"embed", 4}}};
const Value kW = {.name = "w", .dims = {{"vocab", 5}, {"embed", 4}}};

TEST(Signature, BindsWordsAndLeadingDims) {
  Graph graph;
  const Node node = AddInputs(graph, {kX, kW});
  const auto binding = BindOperands(graph, node, "x:float[...,embed] w:float[vocab,embed]");
  ASSERT_TRUE(binding.ok()) << binding.status().ToString();
  EXPECT_EQ(DimNames(binding->leading()), (std::vector<std::string>{"batch", "position"}));
  EXPECT_EQ(DimNames(binding->Dims("...,vocab")),
            (std::vector<std::string>{"batch", "position", "vocab"}));
  EXPECT_EQ(binding->dim("vocab").size, 5);
  EXPECT_TRUE(binding->Dims("").empty());
}

TEST(Signature, SaysWhichOperandIsWrong) {
  const std::string signature = "x:float[...,embed] w:float[vocab,embed]";
  EXPECT_NE(Refusal({kX}, signature).find("has 1 operands, takes 2"), std::string::npos);
  Value other = kW;
  other.dims[1].size = 7;
  EXPECT_NE(Refusal({kX, other}, signature).find("w (w) [vocab 5, embed 7] must have [embed 4]"),
            std::string::npos)
      << Refusal({kX, other}, signature);
  other = kW;
  other.dtype = DType::kInt32;
  EXPECT_NE(Refusal({kX, other}, signature).find("is int32, must be float"), std::string::npos);
  EXPECT_NE(Refusal({kX, kX}, signature).find("has 3 dims, needs 2"), std::string::npos);
  EXPECT_NE(Refusal({kX, kW}, "x:float[...] w:float[...]").find("must begin with [batch 2"),
            std::string::npos);
}

}  // namespace
}  // namespace trireme
