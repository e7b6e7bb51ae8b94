// Gradient of expert_mlp. The first wave reads what the forward kept; further ones are computed
// again, so they cost memory only while they run.
#include "kernels/ops/expert_mlp/operands.h"
#include "kernels/ops/infer_util.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

// Inputs: dy, those of expert_mlp, its outputs from source on.
constexpr int kForward = 1;
constexpr int kKept = 7 - kExpertSource;

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, kKept + kNumExpertOutputs));
  const auto like = [&](int input) {
    const Value& value = In(graph, node, kForward + input);
    return ValueType{value.dims, value.dtype};
  };
  return std::vector<ValueType>{like(kExpertX), like(kExpertWeights), like(kExpertGate),
                                like(kExpertUp), like(kExpertDown)};
}

std::vector<int> Expand(ExpandContext& context, const Graph&, const Node& node) {
  const std::vector<int> in = node.inputs;
  const Attrs attrs = node.attrs;
  const int dy = in[0];
  const int x = in[kForward + kExpertX];
  const int ids = in[kKept + kExpertChosen];
  const int weights = in[kKept + kExpertChosenWeights];
  const int gate = in[kForward + kExpertGate];
  const int up = in[kForward + kExpertUp];
  const int down = in[kForward + kExpertDown];
  const int source = in[kKept + kExpertSource];
  const int counts = in[kKept + kExpertCounts];
  ExpertWaves waves(context, attrs);
  int dx = -1, dweights = -1, dgate_w = -1, dup_w = -1, ddown_w = -1;
  // Adds output 0 of a node into `sum`, or starts it.
  const auto add = [&](int* sum, const char* op, const Attrs& op_attrs,
                       const std::vector<int>& inputs) {
    if (*sum >= 0) {
      context.AddInto(op, op_attrs, inputs, {*sum});
    } else {
      *sum = context.Add(op, op_attrs, inputs)[0];
    }
  };
  for (int64_t w = 0; w < attrs.GetInt("waves"); ++w) {
    ExpertRows rows = {in[kKept + kExpertRows], in[kKept + kExpertGateRows],
                       in[kKept + kExpertUpRows], in[kKept + kExpertInner], in[kKept + kExpertOut]};
    if (w > 0) {
      context.When(in[kKept + kExpertWavesNeeded], static_cast<int>(w));
      rows = waves.Forward(x, source, counts, gate, up, down, w);
    }
    waves.AtTokens();
    const Attrs wave = {{"wave", w}};
    add(&dweights, "combine_weight_grad", wave, {dy, rows.out, source, weights});
    const int dout = waves.ToExperts(context.Add("combine_grad", wave, {dy, source, weights})[0]);
    waves.AtExperts();
    add(&ddown_w, "grouped_dot_grad", waves.WeightGradAttrs(w), {rows.inner, dout, counts});
    const int dinner = waves.Multiply(dout, down, counts, w, true);
    const std::vector<int> dhidden = context.Add("swiglu_grad", {}, {dinner, rows.gate, rows.up});
    add(&dgate_w, "grouped_dot_grad", waves.WeightGradAttrs(w), {rows.rows, dhidden[0], counts});
    add(&dup_w, "grouped_dot_grad", waves.WeightGradAttrs(w), {rows.rows, dhidden[1], counts});
    int drows = waves.Multiply(dhidden[0], gate, counts, w, true);
    add(&drows, "grouped_dot", waves.ProductAttrs(w, true), {dhidden[1], up, counts});
    drows = waves.ToTokens(drows);
    waves.AtTokens();
    add(&dx, "dispatch_grad", wave, {drows, source, ids});
  }
  return {dx, dweights, dgate_w, dup_w, ddown_w};
}

}  // namespace

OpRule Rule_expert_mlp_grad() {
  return {.name = "expert_mlp_grad", .infer = Infer, .expand = Expand};
}

}  // namespace trireme
