// Auxiliary losses of a router over balance groups of `group` sequences:
//   loss = sum_g w_g (balance * E sum_e load_e P_e + z * mean_t lse_t^2),
// w_g = loss weights of the group, load_e = share of assignments, P_e = mean probability. Perfect
// balance gives `balance`, whatever k. Sources: Switch Transformer, Fedus et al. 2021,
// arXiv:2101.03961 (2.2); router z-loss: ST-MoE, Zoph et al. 2022, arXiv:2202.08906.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/route/routing_rules.h"
#include "kernels/ops/router_loss/workspace.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckScore(node));
  RETURN_IF_ERROR(CheckAttrs(node, {"balance", "z"}));
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node,
                   "logits:float[batch,position,router_expert] ids:int32[batch,position,choice] "
                   "weights:float[batch,position] segments:int32[batch,position]"));
  RETURN_IF_ERROR(CheckGroup(node, dims.dim("batch").size));
  return std::vector<ValueType>{{{}, DType::kFloat64}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  const std::vector<Dim>& logits = In(graph, node, 0).dims;
  return {logits[1].name, logits[2].name, In(graph, node, 1).dims[2].name};
}

void Grad(GradArgs& args) {
  const int loss_grad = args.output_grads[0];
  if (loss_grad < 0) return;
  const std::vector<int>& in = args.node.inputs;
  args.input_grads[0] =
      args.builder.Add1("router_loss_grad", args.node.attrs,
                        {loss_grad, in[0], in[1], in[2], in[3]}, GradName(args, 0));
}

OpCost Cost(const Graph& graph, const Node& node) {
  const std::vector<Dim>& logits = In(graph, node, 0).dims;
  return {
      .flops = 15 * Elements(In(graph, node, 0)),
      .bytes = OperandBytes(graph, node),
      .workspace = RouterSumsBytes(logits[0].size / node.attrs.GetInt("group"),
                                   node.attrs.GetInt("group") * logits[1].size, logits[2].size)};
}

}  // namespace

OpRule Rule_router_loss() {
  return {.name = "router_loss", .infer = Infer, .whole = Whole, .grad = Grad, .cost = Cost};
}

}  // namespace trireme
