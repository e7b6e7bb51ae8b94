// Moves a router's selection bias towards equal loads after a step, in place, from the step's
// statistics (router_stats/layout.h). rule quantile (Marin's quantile balancing): bias = mean of
// beta
// - beta. rule sign (DeepSeek-V3, arXiv:2412.19437, 2.1.2): bias += rate * sign(mean load - load).
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/signature.h"
#include "kernels/ops/step_control/layout.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckAttrs(node, {"rule", "rate"}));
  const std::string& rule = node.attrs.GetString("rule");
  if (rule != "quantile" && rule != "sign") {
    return OpError(node, "rule=" + rule + " must be quantile or sign");
  }
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "bias:float[router_expert] stats:float64[router_stat] "
                                "control:float64[control]"));
  const int64_t stats = RouterStatSize(dims.dim("router_expert").size);
  if (dims.dim("router_stat").size != stats) {
    return OperandError(graph, node, 1, "must have " + std::to_string(stats) + " elements");
  }
  if (dims.dim("control").size != kControlSize) {
    return OperandError(graph, node, 2, "must have " + std::to_string(kControlSize) + " elements");
  }
  return std::vector<ValueType>{{dims.Dims("router_expert"), In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) names.push_back(In(graph, node, i).dims[0].name);
  return names;
}

}  // namespace

OpRule Rule_balance_update() { return {.name = "balance_update", .infer = Infer, .whole = Whole}; }

}  // namespace trireme
