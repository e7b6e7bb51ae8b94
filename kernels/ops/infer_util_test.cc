// The shared checks accept what they should and name operand, dims and what would be right.
#include "kernels/ops/infer_util.h"

#include <gtest/gtest.h>

#include "kernels/ops/reference_util.h"
#include "kernels/testing/host_tensor.h"

namespace trireme {
namespace {

struct Fixture {
  Graph graph;
  Node node{.op = "op"};
  Fixture() {
    const std::vector<Dim> x{{"batch", 2}, {"embed", 3, 4}};
    node.inputs = {graph.AddValue({.name = "x", .dims = x}),
                   graph.AddValue({.name = "w", .dims = {{"embed", 3}}}),
                   graph.AddValue({.name = "ids", .dims = {{"batch", 2}}, .dtype = DType::kInt32})};
  }
};

std::string Message(const Status& status) { return std::string(ToStd(status.message())); }

TEST(InferUtil, AcceptsWhatFits) {
  const Fixture f;
  EXPECT_TRUE(CheckCount(f.graph, f.node, 3).ok());
  EXPECT_TRUE(CheckRank(f.graph, f.node, 0, 2).ok());
  EXPECT_TRUE(CheckFloat(f.graph, f.node, 1).ok());
  EXPECT_TRUE(CheckBroadcast(f.graph, f.node, 0, 1).ok());
  EXPECT_TRUE(CheckLike(f.graph, f.node, 2, {{"batch", 2}}, DType::kInt32).ok());
}

TEST(InferUtil, NamesWhatDoesNot) {
  const Fixture f;
  EXPECT_EQ(Message(CheckCount(f.graph, f.node, 2)), "op: has 3 operands, takes 2");
  EXPECT_EQ(Message(CheckAttrs(f.node, {"eps"})), "op: needs the attribute eps");
  EXPECT_EQ(Message(CheckFloat(f.graph, f.node, 2)),
            "op: operand 2 (ids) [batch 2] int32: must be float32 or float64");
  EXPECT_EQ(Message(CheckDims(f.graph, f.node, 1, {{"embed", 5}})),
            "op: operand 1 (w) [embed 3] float32: must have dims [embed 5]");
  EXPECT_FALSE(CheckBroadcast(f.graph, f.node, 1, 0).ok());
}

TEST(InferUtil, CountsPhysicalElementsAndBytes) {
  const Fixture f;
  EXPECT_EQ(Elements(f.graph.value(0)), 8);
  EXPECT_EQ(OperandBytes(f.graph, f.node), 4 * (8 + 3 + 2));
  EXPECT_EQ(NameList(f.graph.value(0).dims), "batch,embed");
}

TEST(ReferenceUtil, LoadsAndStoresEveryType) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32}) {
    const HostTensor tensor(dtype, {2, 3});
    StoreAll(tensor.view(), {1, 2, 3, 4, 5, 6});
    Store(tensor.view(), 1, 5, /*accumulate=*/true);
    EXPECT_EQ(LoadAll(tensor.view()), std::vector<double>({1, 7, 3, 4, 5, 6}));
    EXPECT_EQ(NumRows(tensor.view()), 2);
    EXPECT_EQ(LastSize(tensor.view()), 3);
  }
}

}  // namespace
}  // namespace trireme
