// Chooses k experts for each token and weighs them. Scores p are the softmax of the logits
// (Mixtral, Jiang et al. 2024, arXiv:2401.04088) or their sigmoids (DeepSeek-V3, arXiv:2412.19437;
// Grug); experts are chosen by score or by logit, plus a bias that balances loads and takes no
// gradient.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/route/routing_rules.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckScore(node));
  RETURN_IF_ERROR(CheckBiasTo(node));
  RETURN_IF_ERROR(CheckAttrs(node, {"renormalise", "total", "eps"}));
  const bool has_bias = node.attrs.GetString("bias_to") != "none";
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node,
                   has_bias ? "logits:float[...,router_expert] bias:float[router_expert] "
                              "segments:int32[...]"
                            : "logits:float[...,router_expert] segments:int32[...]"));
  RETURN_IF_ERROR(CheckChoices(node, dims.dim("router_expert").size));
  std::vector<Dim> out = dims.leading();
  out.push_back({.name = "choice", .size = node.attrs.GetInt("k")});
  return std::vector<ValueType>{{out, DType::kInt32},
                                {out, StatisticDType(In(graph, node, 0).dtype)}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims.back().name, "choice"};
}

void Grad(GradArgs& args) {
  const int weights_grad = args.output_grads[1];
  if (weights_grad < 0) return;
  const Attrs& attrs = args.node.attrs;
  args.input_grads[0] = args.builder.Add1("route_grad",
                                          {{"score", attrs.GetString("score")},
                                           {"renormalise", attrs.GetInt("renormalise")},
                                           {"total", attrs.GetDouble("total")},
                                           {"eps", attrs.GetDouble("eps")}},
                                          {weights_grad, args.node.inputs[0], args.node.outputs[0]},
                                          GradName(args, 0));
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 10 * Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_route() {
  return {.name = "route", .infer = Infer, .whole = Whole, .grad = Grad, .cost = Cost};
}

}  // namespace trireme
