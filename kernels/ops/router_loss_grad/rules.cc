// Gradient of router_loss for the logits; loads are constant.
#include "kernels/ops/route/routing_rules.h"
#include "kernels/ops/router_loss/workspace.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckScore(node));
  RETURN_IF_ERROR(CheckAttrs(node, {"balance", "z"}));
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "dloss:float64[] logits:float[batch,position,router_expert] "
                                "ids:int32[batch,position,choice] weights:float[batch,position] "
                                "segments:int32[batch,position]"));
  RETURN_IF_ERROR(CheckGroup(node, dims.dim("batch").size));
  return std::vector<ValueType>{
      {dims.Dims("batch,position,router_expert"), In(graph, node, 1).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  const std::vector<Dim>& logits = In(graph, node, 1).dims;
  return {logits[1].name, logits[2].name, In(graph, node, 2).dims[2].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  const std::vector<Dim>& logits = In(graph, node, 1).dims;
  return {
      .flops = 15 * Elements(In(graph, node, 1)),
      .bytes = OperandBytes(graph, node),
      .workspace = RouterSumsBytes(logits[0].size / node.attrs.GetInt("group"),
                                   node.attrs.GetInt("group") * logits[1].size, logits[2].size)};
}

}  // namespace

OpRule Rule_router_loss_grad() {
  return {.name = "router_loss_grad", .infer = Infer, .whole = Whole, .cost = Cost};
}

}  // namespace trireme
