// The end of a step for one tensor, as graph text: plain, ZeRO-1, reduced once a step, and tied
// over stages.
#include "coordinator/compiler/optimizers/optimizer.h"

#include "coordinator/compiler/partition/test_mesh.h"

namespace trireme {
namespace {

// Nodes of `graph` in short: "U1 all_reduce(grad of w) -> grad of w[...]".
std::string Short(const Graph& graph, const Mesh& mesh) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += std::string(Name(node.phase)) + " " + node.op + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i)
      text += (i > 0 ? ", " : "") + graph.value(node.inputs[i]).name;
    const Value& out = graph.value(node.outputs[0]);
    text += ") -> " + out.name + ToText(mesh, out.dims, out.sharding) +
            (node.in_place ? " in place" : "") + "\n";
  }
  return text;
}

class UpdateOf : public testing::Test {
 protected:
  UpdateInput Input(const Sharding& param, const Sharding& optimizer, const Sharding& accumulator) {
    UpdateInput input;
    input.tensor = {
        .name = "w", .dims = {{"embed", 8}, {"mlp", 12}}, .init_std = 0.5, .decay = true};
    input.shardings = {param, optimizer, accumulator};
    input.seed = 3;
    return input;
  }
  Graph Build(const UpdateInput& input) {
    StatusOr<Graph> graph = BuildUpdate(input, OptimizerSpec{}, mesh_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }
  const Mesh mesh_ = *Mesh::Create({{"stage", 3}, {"data", 2}, {"model", 2}});
  const Sharding whole_ = Replicated(2);
  const Sharding split_ = {.dim_axes = {{1}, {}}, .partial = {}};
  const Sharding summed_ = {.dim_axes = {{}, {}}, .partial = {{1, ReduceKind::kSum}}};
};

TEST_F(UpdateOf, Plain) {
  const Graph graph = Build(Input(split_, split_, split_));
  EXPECT_EQ(Short(graph, mesh_),
            "INIT random_fill() -> w[embed/data, mlp]\n"
            "U1 sum_squares(grad of w) -> reduce[stat]\n"
            "U2 adamw(w, grad of w, exp_avg, exp_avg_sq, control) -> w[embed/data, mlp]\n");
  for (const Value& value : graph.values)
    EXPECT_NE(value.kind, ValueKind::kReducedGrad) << "the accumulator itself";
}

// The parameter is whole, its state is split: each rank updates its rows, then all gather them.
TEST_F(UpdateOf, ZeroOne) {
  EXPECT_EQ(Short(Build(Input(whole_, split_, split_)), mesh_),
            "INIT random_fill() -> w[embed, mlp]\n"
            "U1 sum_squares(grad of w) -> reduce[stat]\n"
            "U2 slice(w) -> w[embed/data, mlp]\n"
            "U2 adamw(w, grad of w, exp_avg, exp_avg_sq, control) -> w[embed/data, mlp] in place\n"
            "U2 all_gather(w) -> w[embed, mlp]\n");
}

// The gathered update is written into the parameter's own memory.
TEST_F(UpdateOf, ZeroOneEndsInTheParameter) {
  const Graph graph = Build(Input(whole_, split_, split_));
  const Value& last = graph.value(graph.nodes.back().outputs[0]);
  EXPECT_EQ(last.kind, ValueKind::kParam);
  EXPECT_EQ(last.tensor, 0);
}

TEST_F(UpdateOf, ReducedOnceAStep) {
  const Graph graph = Build(Input(split_, split_, summed_));
  EXPECT_EQ(Short(graph, mesh_),
            "INIT random_fill() -> w[embed/data, mlp]\n"
            "U1 reduce_scatter(grad of w) -> grad of w[embed/data, mlp]\n"
            "U1 sum_squares(grad of w) -> reduce[stat]\n"
            "U2 adamw(w, grad of w, exp_avg, exp_avg_sq, control) -> w[embed/data, mlp]\n");
  const Node& scatter = graph.nodes[1];
  EXPECT_EQ(graph.value(scatter.outputs[0]).kind, ValueKind::kReducedGrad);
  EXPECT_EQ(scatter.reason, "gradient of w (reduce: step)");
}

TEST_F(UpdateOf, TiedOverStages) {
  UpdateInput input = Input(split_, split_, split_);
  input.stage_axis = 0;
  input.owner_members = {0, 2};
  const Graph graph = Build(input);
  EXPECT_EQ(Short(graph, mesh_),
            "INIT random_fill() -> w[embed/data, mlp]\n"
            "U1 all_reduce(grad of w) -> grad of w[embed/data, mlp]\n"
            "U1 sum_squares(grad of w) -> reduce[stat]\n"
            "U2 adamw(w, grad of w, exp_avg, exp_avg_sq, control) -> w[embed/data, mlp]\n");
  EXPECT_EQ(graph.nodes[1].attrs.GetInts("axes"), std::vector<int64_t>{0});
  EXPECT_EQ(graph.nodes[1].attrs.GetInts("members"), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(graph.nodes[2].attrs.GetInts("owner_axes"), (std::vector<int64_t>{2, 0}))
      << "the norm counts it once";
}

// Of the ranks that repeat a tensor one counts in the norm. Stages hold different tensors: each
// counts.
TEST_F(UpdateOf, NormOwners) {
  UpdateInput input = Input(whole_, whole_, whole_);
  input.stage_axis = 0;
  EXPECT_EQ(Build(input).nodes[1].attrs.GetInts("owner_axes"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(Build(input).nodes[1].attrs.GetInt("scalar_offset"), 2);
}

TEST_F(UpdateOf, InitialValuesAreNamedByKindSeedAndGlobalSize) {
  const auto attrs = [this](InitKind kind) {
    UpdateInput input = Input(split_, split_, split_);
    input.tensor.init = kind;
    return Build(input).nodes[0].attrs;
  };
  EXPECT_EQ(attrs(InitKind::kNormal).GetString("kind"), "normal");
  EXPECT_EQ(attrs(InitKind::kNormal).GetDouble("std"), 0.5);
  EXPECT_EQ(attrs(InitKind::kNormal).GetInt("seed"), 3);
  EXPECT_EQ(attrs(InitKind::kNormal).GetInts("global_sizes"), (std::vector<int64_t>{8, 12}));
  EXPECT_EQ(attrs(InitKind::kOnes).GetString("kind"), "ones");
  EXPECT_EQ(attrs(InitKind::kZeros).GetString("kind"), "zeros");
}

TEST(Optimizer, UnknownTypeNamesTheKnown) {
  OptimizerSpec spec;
  spec.type = "adam";
  ExpectError(StateNames(spec).status(), absl::StatusCode::kInvalidArgument,
              "optimizer.type: unknown optimizer \"adam\"; known: adamw");
  ExpectError(BuildUpdate({}, spec, Mesh{}).status(), absl::StatusCode::kInvalidArgument,
              "unknown optimizer");
}

// One all-reduce of four numbers over every rank, stages included, then the control block.
TEST(StepControl, ReducesOverEveryRank) {
  OptimizerSpec spec;
  spec.max_grad_norm = 2.0;
  const Mesh mesh = *Mesh::Create({{"data", 2}, {"model", 1}, {"stage", 3}});
  const Graph graph = BuildStepControl(mesh, spec, 96, 10);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op, "all_reduce");
  EXPECT_EQ(graph.nodes[0].attrs.GetInts("axes"), (std::vector<int64_t>{2, 0}))
      << "in placement order, sizes > 1";
  EXPECT_EQ(ToText(graph.value(graph.nodes[0].inputs[0]).dims), "[reduce 4]");
  EXPECT_EQ(graph.nodes[1].op, "step_control");
  EXPECT_EQ(graph.nodes[1].attrs.GetDouble("expected_weight"), 96);
  EXPECT_EQ(graph.nodes[1].attrs.GetDouble("max_grad_norm"), 2.0);
}

TEST(StepControl, OneRankReducesNothing) {
  const Graph graph = BuildStepControl(*Mesh::Create({{"data", 1}}), {}, 96, 10);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, "step_control");
}

}  // namespace
}  // namespace trireme
