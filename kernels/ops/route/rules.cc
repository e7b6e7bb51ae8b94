// Mixtral's router (Jiang et al. 2024, arXiv:2401.04088): softmax over experts, the k best (ties:
// lower id), their probabilities scaled to sum to 1, which is the softmax over the chosen logits.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node, "logits:float[...,router_expert]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"k"}));
  const int64_t k = node.attrs.GetInt("k");
  const int64_t num_experts = dims.dim("router_expert").size;
  if (k < 1 || k > num_experts) {
    return OpError(node, "k=" + std::to_string(k) + " must be between 1 and the " +
                             std::to_string(num_experts) + " experts");
  }
  std::vector<Dim> out = dims.leading();
  out.push_back({.name = "choice", .size = k});
  return std::vector<ValueType>{{out, DType::kInt32},
                                {out, StatisticDType(In(graph, node, 0).dtype)}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims.back().name, "choice"};
}

void Grad(GradArgs& args) {
  const int weights_grad = args.output_grads[1];
  if (weights_grad < 0) return;
  args.input_grads[0] = args.builder.Add1("route_grad", {{"k", args.node.attrs.GetInt("k")}},
                                          {weights_grad, args.node.inputs[0], args.node.outputs[0]},
                                          GradName(args, 0));
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = static_cast<double>(node.attrs.GetInt("k")) * Elements(In(graph, node, 0)),
          .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_route() {
  return {.name = "route", .infer = Infer, .whole = Whole, .grad = Grad, .cost = Cost};
}

}  // namespace trireme
