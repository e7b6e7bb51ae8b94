// Gradient of route's weights for the logits; the choice itself is constant.
#include "kernels/ops/route/routing_rules.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckScore(node));
  RETURN_IF_ERROR(CheckAttrs(node, {"renormalise", "total", "eps"}));
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "dweights:float[...,choice] logits:float[...,router_expert] "
                                "ids:int32[...,choice]"));
  return std::vector<ValueType>{{dims.Dims("...,router_expert"), In(graph, node, 1).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 1).dims.back().name, In(graph, node, 0).dims.back().name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 10 * Elements(In(graph, node, 1)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_route_grad() {
  return {.name = "route_grad", .infer = Infer, .whole = Whole, .cost = Cost};
}

}  // namespace trireme
