// A reshard of one value to one target exists once a phase; its steps become nodes that say why.
#include "coordinator/compiler/partition/resharder.h"

#include "coordinator/compiler/partition/test_mesh.h"

namespace trireme {
namespace {

const std::vector<Dim> kDims = {{"batch", 4}, {"embed", 8}};

class ResharderTest : public testing::Test {
 protected:
  int Add(Sharding sharding) {
    return graph_.AddValue(
        {.name = "x", .dims = kDims, .region = "residual", .sharding = std::move(sharding)});
  }
  int To(int value, const Sharding& to, Phase phase = Phase::kForward) {
    const StatusOr<int> result = resharder_.To(value, to, phase, "because");
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(-1);
  }
  TestMesh t_{{{"data", 2}, {"model", 2}}};
  Graph graph_;
  Resharder resharder_{t_.mesh, graph_, {}};
  const Sharding split_ = {.dim_axes = {{0}, {}}, .partial = {}};
  const Sharding sum_ = {.dim_axes = {{}, {}}, .partial = {{1, ReduceKind::kSum}}};
};

TEST_F(ResharderTest, EqualShardingIsTheValueItself) {
  const int x = Add(split_);
  EXPECT_EQ(To(x, split_), x);
  EXPECT_TRUE(graph_.nodes.empty());
}

TEST_F(ResharderTest, OnceForEachValueTargetAndPhase) {
  const int x = Add(split_);
  const int whole = To(x, Replicated(2));
  EXPECT_EQ(To(x, Replicated(2)), whole);
  EXPECT_EQ(graph_.nodes.size(), 1u);
  EXPECT_NE(To(x, Replicated(2), Phase::kBackward), whole)
      << "the backward gathers again rather than save a copy";
  EXPECT_EQ(graph_.nodes.size(), 2u);
  EXPECT_NE(To(Add(split_), Replicated(2)), whole) << "another value";
  EXPECT_NE(To(x, {.dim_axes = {{0}, {1}}, .partial = {}}), whole) << "another target";
  EXPECT_EQ(graph_.nodes.size(), 4u);
}

// A sum that the forward has resolved is not reduced again for the backward.
TEST_F(ResharderTest, BackwardUsesTheForwardsSum) {
  const int y = Add(sum_);
  const int resolved = To(y, Replicated(2));
  EXPECT_EQ(To(y, Replicated(2), Phase::kBackward), resolved);
  EXPECT_EQ(graph_.nodes.size(), 1u);
}

TEST_F(ResharderTest, NodesCarryTheStepAndTheReason) {
  const int x = Add(split_);
  const int whole = To(x, Replicated(2));
  const Node& node = graph_.nodes[0];
  EXPECT_EQ(node.op, "all_gather");
  EXPECT_EQ(node.attrs.ToText(), Attrs({{"axes", std::vector<int64_t>{0}},
                                        {"dim", int64_t{0}},
                                        {"kind", std::string("sum")},
                                        {"to_dim", int64_t{-1}}})
                                     .ToText());
  EXPECT_EQ(node.inputs, std::vector<int>{x});
  EXPECT_EQ(node.outputs, std::vector<int>{whole});
  EXPECT_EQ(node.reason, "because");
  EXPECT_EQ(graph_.value(whole).sharding, Replicated(2));
  EXPECT_EQ(graph_.value(whole).name, "x");
}

TEST_F(ResharderTest, SeveralStepsFormAChain) {
  const Sharding from = {.dim_axes = {{0}, {}}, .partial = {{1, ReduceKind::kSum}}};
  const int y = To(Add(from), {.dim_axes = {{}, {1}}, .partial = {}});
  ASSERT_EQ(graph_.nodes.size(), 2u);
  EXPECT_EQ(graph_.nodes[0].op, "reduce_scatter");
  EXPECT_EQ(graph_.nodes[1].op, "all_gather");
  EXPECT_EQ(graph_.nodes[1].inputs, graph_.nodes[0].outputs);
  EXPECT_EQ(graph_.nodes[1].outputs, std::vector<int>{y});
}

// A parameter's gathered copy is a temporary, not the parameter.
TEST_F(ResharderTest, ResultIsATemporary) {
  const int w = graph_.AddValue(
      {.name = "w", .dims = kDims, .kind = ValueKind::kParam, .tensor = 0, .sharding = split_});
  const int whole = To(w, Replicated(2));
  EXPECT_EQ(graph_.value(whole).kind, ValueKind::kTemp);
  EXPECT_EQ(graph_.value(whole).tensor, -1);
}

TEST_F(ResharderTest, CannotBecomePartial) {
  EXPECT_EQ(resharder_.To(Add(split_), sum_, Phase::kForward, "").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace trireme
