// Each token through its chosen SwiGLU experts: y = sum over choices of weight * expert(x).
// Always expanded into waves of static size: what does not fit in the first pool of rows goes into
// copies of the same code that run only where a count asks for them, so nothing is dropped unless a
// capacity was asked for. Attributes (global numbers): num_experts, expert_shards, token_shards,
// capacity (rows of a pool), waves, thin, choices, all_to_all, fill (expected part of a pool that
// is filled).
#include "kernels/ops/expert_mlp/operands.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "x:float[batch,position,embed] ids:int32[batch,position,choice] "
                                "weights:float[batch,position,choice] gate:float[expert,embed,mlp] "
                                "up:float[expert,embed,mlp] down:float[expert,mlp,embed]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"num_experts", "expert_shards", "token_shards", "capacity",
                                    "waves", "thin", "choices", "all_to_all", "fill"}));
  const Attrs& attrs = node.attrs;
  const int64_t token_shards = attrs.GetInt("token_shards");
  const bool all_to_all = attrs.GetInt("all_to_all") != 0;
  const Dim wave = {"wave", attrs.GetInt("waves")};
  const Dim shard = {"expert_shard", attrs.GetInt("expert_shards")};
  const Dim token_side = {all_to_all ? "destination" : "expert_shard", shard.size};
  const Dim slot = {"slot", attrs.GetInt("capacity") * token_shards};
  const DType dtype = In(graph, node, kExpertX).dtype;
  const std::vector<Dim> inner = {shard, slot, dims.dim("mlp")};
  std::vector<ValueType> types(kNumExpertOutputs);
  types[kExpertY] = {dims.Dims("batch,position,embed"), dtype};
  types[kExpertDrops] = types[kExpertExtraWaves] = {{}, DType::kFloat64};
  types[kExpertSource] = {{wave, token_side, slot}, DType::kInt32};
  types[kExpertCounts] = {{wave, {"token_shard", token_shards}, dims.dim("expert")}, DType::kInt32};
  types[kExpertWavesNeeded] = {{}, DType::kInt32};
  types[kExpertChosen] = {dims.Dims("batch,position,choice"), DType::kInt32};
  types[kExpertChosenWeights] = {dims.Dims("batch,position,choice"),
                                 In(graph, node, kExpertWeights).dtype};
  types[kExpertRows] = {{shard, slot, dims.dim("embed")}, dtype};
  types[kExpertGateRows] = types[kExpertUpRows] = types[kExpertInner] = {inner, dtype};
  types[kExpertOut] = {{token_side, slot, dims.dim("embed")}, dtype};
  return types;
}

void Grad(GradArgs& args) {
  if (args.output_grads[kExpertY] < 0) return;
  std::vector<int> inputs = {args.output_grads[kExpertY]};
  inputs.insert(inputs.end(), args.node.inputs.begin(), args.node.inputs.end());
  for (int i = kExpertSource; i < kNumExpertOutputs; ++i) inputs.push_back(args.node.outputs[i]);
  const std::vector<int> grads =
      args.builder.Add("expert_mlp_grad", args.node.attrs, inputs, GradName(args, 0));
  const int targets[] = {kExpertX, kExpertWeights, kExpertGate, kExpertUp, kExpertDown};
  for (size_t i = 0; i < grads.size(); ++i) args.input_grads[targets[i]] = grads[i];
}

std::vector<int> Expand(ExpandContext& context, const Graph&, const Node& node) {
  const std::vector<int> in = node.inputs;
  const Attrs attrs = node.attrs;
  const bool all_to_all = attrs.GetInt("all_to_all") != 0;
  ExpertWaves waves(context, attrs);
  waves.AtTokens();
  Attrs plan_attrs = {{"shard_dim", std::string(all_to_all ? "destination" : "expert_shard")},
                      {"expert_dim", std::string(all_to_all ? "router_expert" : "expert")}};
  for (const char* const name :
       {"num_experts", "expert_shards", "token_shards", "capacity", "waves", "thin"}) {
    plan_attrs.Set(name, attrs.GetInt(name));
  }
  std::vector<int> outputs(kNumExpertOutputs, -1);
  outputs[kExpertChosen] = context.Enter(in[kExpertIds], waves.token_region(), {});
  outputs[kExpertChosenWeights] = context.Enter(in[kExpertWeights], waves.token_region(), {});
  const std::vector<int> plan = context.Add("dispatch_plan", plan_attrs, {outputs[kExpertChosen]});
  outputs[kExpertSource] = plan[0];
  outputs[kExpertCounts] = plan[1];
  if (all_to_all) {
    outputs[kExpertCounts] = context.Enter(plan[1], "experts", {{"router_expert", "expert"}});
  }
  outputs[kExpertDrops] = plan[3];
  outputs[kExpertExtraWaves] = plan[4];
  waves.AtExperts();
  const int64_t num_waves = attrs.GetInt("waves");
  // Experts see the rows of ranks that slots are not split over there: those exchange something.
  outputs[kExpertWavesNeeded] =
      num_waves > 1 ? context.Largest(plan[2], "slot") : context.Local(plan[2]);
  for (int64_t w = 0; w < num_waves; ++w) {
    if (w > 0) context.When(outputs[kExpertWavesNeeded], static_cast<int>(w));
    const ExpertRows rows =
        waves.Forward(in[kExpertX], outputs[kExpertSource], outputs[kExpertCounts], in[kExpertGate],
                      in[kExpertUp], in[kExpertDown], w);
    const std::vector<int> inputs = {rows.out, outputs[kExpertSource],
                                     outputs[kExpertChosenWeights]};
    if (w > 0) {
      context.AddInto("combine", {{"wave", w}}, inputs, {outputs[kExpertY]});
      continue;
    }
    outputs[kExpertY] = context.Add("combine", {{"wave", w}}, inputs)[0];
    outputs[kExpertRows] = rows.rows;
    outputs[kExpertGateRows] = rows.gate;
    outputs[kExpertUpRows] = rows.up;
    outputs[kExpertInner] = rows.inner;
    outputs[kExpertOut] = rows.out;
  }
  return outputs;
}

}  // namespace

OpRule Rule_expert_mlp() {
  return {.name = "expert_mlp", .infer = Infer, .grad = Grad, .expand = Expand};
}

}  // namespace trireme
