// Cross-entropy of a linear head, loss = sum_t weight_t * (logsumexp_v(x_t . w_v) - x_t .
// w_target), without keeping the logits. It is always expanded, so that a split vocabulary needs
// only three numbers a token from each shard.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

constexpr int kX = 0, kW = 1, kTargets = 2, kWeights = 3;

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(
          graph, node,
          "x:float[...,embed] w:float[vocab,embed] targets:int32[...] weights:float[...]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"vocab_size"}));
  const DType dtype = In(graph, node, kX).dtype;
  return std::vector<ValueType>{{{}, DType::kFloat64}, {dims.leading(), StatisticDType(dtype)}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, kW).dims[1].name};
}

void Grad(GradArgs& args) {
  const int loss_grad = args.output_grads[0];
  if (loss_grad < 0) return;
  const std::vector<int>& in = args.node.inputs;
  const int lse = args.node.outputs[1];
  const std::vector<int> grads = args.builder.Add(
      "linear_cross_entropy_grad", {{"vocab_size", args.node.attrs.GetInt("vocab_size")}},
      {in[kX], in[kW], in[kTargets], in[kWeights], lse, loss_grad}, GradName(args, kX));
  args.input_grads[kX] = grads[0];
  args.input_grads[kW] = grads[1];
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 2 * Elements(In(graph, node, kTargets)) * Elements(In(graph, node, kW)),
          .bytes = OperandBytes(graph, node)};
}

// logsumexp over shards: with l_i of shard i and m = max_i l_i, lse = m + log(sum_i exp(l_i - m)).
std::vector<int> Expand(ExpandContext& context, const Graph& graph, const Node& node) {
  const std::vector<int> in = node.inputs;
  const std::string vocab = In(graph, node, kW).dims[0].name;
  const Attrs attrs = {{"vocab_size", node.attrs.GetInt("vocab_size")}};
  const std::vector<int> parts =
      context.AddPartial("linear_logsumexp", attrs, {in[kX], in[kW], in[kTargets]}, vocab,
                         {ReduceKind::kMax, ReduceKind::kSum});
  const int local = parts[0];
  const int max = context.Resolve(local);
  int lse = max;
  if (max != local) {
    const int scaled = context.AddPartial(
        "map2", {{"kind", "exp_diff"}}, {context.Local(local), max}, vocab, {ReduceKind::kSum})[0];
    lse = context.Add("map2", {{"kind", "add_log"}}, {max, context.Resolve(scaled)})[0];
  }
  const int target_logit = context.Resolve(parts[1]);
  const int loss = context.Add("weighted_nll", {}, {lse, target_logit, in[kWeights]})[0];
  return {loss, lse};
}

}  // namespace

OpRule Rule_linear_cross_entropy() {
  return {.name = "linear_cross_entropy",
          .infer = Infer,
          .whole = Whole,
          .grad = Grad,
          .cost = Cost,
          .expand = Expand};
}

}  // namespace trireme
