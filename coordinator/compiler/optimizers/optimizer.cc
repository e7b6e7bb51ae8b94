// The parts every optimizer shares, and the table of optimizers.
#include "coordinator/compiler/optimizers/optimizer.h"

#include "common/base/math.h"
#include "coordinator/compiler/optimizers/formula.h"
#include "coordinator/compiler/partition/node_sharding.h"
#include "coordinator/compiler/partition/resharder.h"
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {

OptimizerFormula AdamwFormula();

namespace {

struct Entry {
  const char* type;
  OptimizerFormula (*formula)();
};

constexpr Entry kOptimizers[] = {{"adamw", AdamwFormula}};

StatusOr<OptimizerFormula> FindFormula(const OptimizerSpec& spec) {
  std::string known;
  for (const Entry& entry : kOptimizers) {
    if (spec.type == entry.type) return entry.formula();
    known += (known.empty() ? "" : ", ") + std::string(entry.type);
  }
  return InvalidArgument("optimizer.type: unknown optimizer \"" + spec.type +
                         "\"; known: " + known);
}

int AddBound(Graph& graph, const UpdateInput& input, ValueKind kind, const Sharding& sharding,
             const std::string& name, int slot = -1) {
  return graph.AddValue({.name = name,
                         .dims = input.tensor.dims,
                         .dtype = DType::kFloat32,
                         .kind = kind,
                         .region = "optimizer",
                         .tensor = 0,
                         .slot = slot,
                         .sharding = sharding});
}

int AddScalars(Graph& graph, const std::string& name, std::vector<Dim> dims, DType dtype) {
  const int rank = static_cast<int>(dims.size());
  return graph.AddValue({.name = name,
                         .dims = std::move(dims),
                         .dtype = dtype,
                         .kind = ValueKind::kScalars,
                         .region = "optimizer",
                         .sharding = Replicated(rank)});
}

void AddInit(Graph& graph, const UpdateInput& input) {
  const int param =
      AddBound(graph, input, ValueKind::kParam, input.shardings.param, input.tensor.name);
  constexpr const char* kKinds[] = {"zeros", "ones", "normal", "truncated_normal"};  // InitKind
  const char* kind = kKinds[static_cast<int>(input.tensor.init)];
  Node node{.op = "random_fill", .outputs = {param}, .phase = Phase::kInit, .region = "optimizer"};
  node.attrs.Set("kind", std::string(kind));
  node.attrs.Set("std", input.tensor.init_std);
  node.attrs.Set("seed", input.seed);
  // The stream is named by the instance's tensor: the linker fills it in.
  node.attrs.Set("stream", int64_t{0});
  node.attrs.Set("global_sizes", Sizes(input.tensor.dims));
  graph.AddNode(std::move(node));
}

// Steps of a reshard whose last value is written to bound memory.
StatusOr<int> ReshardInto(Graph& graph, const Mesh& mesh, int value, const Sharding& to,
                          Phase phase, const std::string& reason, ValueKind kind,
                          bool flat_dcn = false) {
  Resharder resharder(mesh, graph, {.flat_dcn = flat_dcn});
  ASSIGN_OR_RETURN(const int result, resharder.To(value, to, phase, reason));
  if (result == value) return result;
  Value& last = graph.value(result);
  last.kind = kind;
  last.tensor = 0;
  return result;
}

// Sums over the stages that hold a tied tensor.
void AddTiedReduce(Graph& graph, const UpdateInput& input, int grad) {
  Node node{.op = "all_reduce",
            .inputs = {grad},
            .outputs = {grad},
            .phase = Phase::kUpdate1,
            .region = "optimizer",
            .reason = "tied tensor: its stages add their gradients"};
  node.attrs.Set("axes", std::vector<int64_t>{input.stage_axis});
  node.attrs.Set("members", input.owner_members);
  node.attrs.Set("dim", int64_t{-1});
  node.attrs.Set("to_dim", int64_t{-1});
  node.attrs.Set("kind", std::string("sum"));
  graph.AddNode(std::move(node));
}

void AddSquares(Graph& graph, const UpdateInput& input, const Mesh& mesh, int grad) {
  const int target = AddScalars(graph, "reduce", {{"stat", 2}}, DType::kFloat64);
  Node node{.op = "sum_squares",
            .inputs = {grad},
            .outputs = {target},
            .phase = Phase::kUpdate1,
            .region = "optimizer",
            .accumulate = true};
  std::vector<int64_t> owners =
      OwnerAxes(mesh, input.shardings.optimizer,
                input.stage_axis >= 0 ? std::vector<int>{input.stage_axis} : std::vector<int>{});
  if (input.owner_members.size() > 1) owners.push_back(input.stage_axis);
  node.attrs.Set("owner_axes", owners);
  node.attrs.Set("scalar_offset", int64_t{2});
  graph.AddNode(std::move(node));
}

}  // namespace

StatusOr<std::vector<std::string>> StateNames(const OptimizerSpec& spec) {
  ASSIGN_OR_RETURN(const OptimizerFormula formula, FindFormula(spec));
  return formula.states;
}

// A router's bias follows the loads of its experts, which every rank knows by then.
Graph BuildBalance(const UpdateInput& input, Graph graph) {
  const int param =
      AddBound(graph, input, ValueKind::kParam, input.shardings.param, input.tensor.name);
  const int64_t size = RouterStatSize(input.tensor.dims[0].size);
  const int stats = AddScalars(graph, "router_stats", {{"router_stat", size}}, DType::kFloat64);
  const int control = AddScalars(graph, "control", {{"control", kControlSize}}, DType::kFloat64);
  graph.AddNode(
      {.op = "balance_update",
       .attrs = {{"rule", input.tensor.balance_rule}, {"rate", input.tensor.balance_rate}},
       .inputs = {param, stats, control},
       .outputs = {param},
       .phase = Phase::kUpdate2,
       .region = "optimizer",
       .reason = "loads of the step move the bias of the next"});
  return graph;
}

StatusOr<Graph> BuildUpdate(const UpdateInput& input, const OptimizerSpec& spec, const Mesh& mesh) {
  ASSIGN_OR_RETURN(const OptimizerFormula formula, FindFormula(spec));
  Graph graph{.name = "update " + input.tensor.name};
  graph.tensors = {input.tensor};
  AddInit(graph, input);
  if (!input.tensor.balance_rule.empty()) return BuildBalance(input, std::move(graph));
  const std::string& name = input.tensor.name;
  const TensorShardings& shardings = input.shardings;
  const int grad =
      AddBound(graph, input, ValueKind::kGrad, shardings.accumulator, "grad of " + name);
  ASSIGN_OR_RETURN(const int reduced,
                   ReshardInto(graph, mesh, grad, shardings.optimizer, Phase::kUpdate1,
                               "gradient of " + name + " (reduce: step)", ValueKind::kReducedGrad,
                               input.flat_dcn));
  if (input.owner_members.size() > 1) AddTiedReduce(graph, input, reduced);
  AddSquares(graph, input, mesh, reduced);
  const int param = AddBound(graph, input, ValueKind::kParam, shardings.param, name);
  Resharder resharder(mesh, graph, {});
  ASSIGN_OR_RETURN(const int master, resharder.To(param, shardings.optimizer, Phase::kUpdate2,
                                                  "optimizer_mapping of " + name));
  std::vector<int> states;
  for (size_t i = 0; i < formula.states.size(); ++i) {
    states.push_back(AddBound(graph, input, ValueKind::kState, shardings.optimizer,
                              formula.states[i], static_cast<int>(i)));
  }
  const int control = AddScalars(graph, "control", {{"control", kControlSize}}, DType::kFloat64);
  Node apply{.op = formula.op,
             .attrs = formula.attrs(spec, input.tensor.decay),
             .inputs = {master, reduced},
             .phase = Phase::kUpdate2,
             .region = "optimizer"};
  apply.inputs.insert(apply.inputs.end(), states.begin(), states.end());
  apply.inputs.push_back(control);
  int updated = master;
  if (master != param) {
    // The master shard is a temporary: updated in place, then spread to all that hold the
    // parameter.
    Value value = graph.value(master);
    updated = graph.AddValue(std::move(value));
    apply.in_place = true;
  }
  apply.outputs = {updated};
  apply.outputs.insert(apply.outputs.end(), states.begin(), states.end());
  graph.AddNode(std::move(apply));
  if (master == param) return graph;
  RETURN_IF_ERROR(ReshardInto(graph, mesh, updated, shardings.param, Phase::kUpdate2,
                              "updated " + name + " to all that hold it", ValueKind::kParam)
                      .status());
  return graph;
}

Graph BuildStepControl(const Mesh& mesh, const OptimizerSpec& spec, double expected_tokens,
                       int64_t lr_table_entries, int64_t router_stats) {
  Graph graph{.name = "step"};
  const int control = AddScalars(graph, "control", {{"control", kControlSize}}, DType::kFloat64);
  const int reduce = AddScalars(graph, "reduce", {{"reduce", kReduceSize}}, DType::kFloat64);
  // Sums of the routers lie behind: one message for all.
  const int sums =
      AddScalars(graph, "reduce", {{"reduce", kReduceSize + router_stats}}, DType::kFloat64);
  const int table = AddScalars(graph, "lr_table", {{"steps", lr_table_entries}}, DType::kFloat32);
  std::vector<int64_t> axes;
  for (const int axis : mesh.placement_order()) {
    if (mesh.axis(axis).size > 1) axes.push_back(axis);
  }
  if (!axes.empty()) {
    Node all{.op = "all_reduce",
             .inputs = {sums},
             .outputs = {sums},
             .phase = Phase::kUpdate2,
             .region = "optimizer",
             .reason = router_stats > 0
                           ? "loss, tokens, gradient norm and router loads over every rank"
                           : "loss, tokens and gradient norm over every rank"};
    all.attrs.Set("axes", axes);
    all.attrs.Set("dim", int64_t{-1});
    all.attrs.Set("to_dim", int64_t{-1});
    all.attrs.Set("kind", std::string("sum"));
    graph.AddNode(std::move(all));
  }
  graph.AddNode({.op = "step_control",
                 .attrs = {{"max_grad_norm", spec.max_grad_norm},
                           {"beta1", spec.beta1},
                           {"beta2", spec.beta2},
                           {"expected_weight", expected_tokens}},
                 .inputs = {control, reduce, table},
                 .outputs = {control},
                 .phase = Phase::kUpdate2,
                 .region = "optimizer"});
  return graph;
}

}  // namespace trireme
