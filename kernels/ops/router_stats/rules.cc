// A router's statistics over balance groups (layout.h): loads, losses without their coefficients,
// entropy, and the quantiles beta of quantile balancing. All are sums, so that shards, microbatches
// and ranks add up to the same numbers however the batch is split.
#include "kernels/ops/route/routing_rules.h"
#include "kernels/ops/router_loss/workspace.h"
#include "kernels/ops/router_stats/layout.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckScore(node));
  RETURN_IF_ERROR(CheckBiasTo(node));
  const std::string bias =
      node.attrs.GetString("bias_to") == "logits" ? "bias:float[router_expert] " : "";
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node,
                   "logits:float[batch,position,router_expert] ids:int32[batch,position,choice] " +
                       bias + "weights:float[batch,position] segments:int32[batch,position]"));
  const int64_t experts = dims.dim("router_expert").size;
  RETURN_IF_ERROR(CheckChoices(node, experts));
  RETURN_IF_ERROR(CheckGroup(node, dims.dim("batch").size));
  return std::vector<ValueType>{
      {{{.name = "router_stat", .size = RouterStatSize(experts)}}, DType::kFloat64}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  const std::vector<Dim>& logits = In(graph, node, 0).dims;
  return {logits[1].name, logits[2].name, In(graph, node, 1).dims[2].name, "router_stat"};
}

OpCost Cost(const Graph& graph, const Node& node) {
  const std::vector<Dim>& logits = In(graph, node, 0).dims;
  return {
      .flops = 30 * Elements(In(graph, node, 0)),
      .bytes = OperandBytes(graph, node),
      .workspace = RouterStatsBytes(logits[0].size / node.attrs.GetInt("group"),
                                    node.attrs.GetInt("group") * logits[1].size, logits[2].size)};
}

}  // namespace

OpRule Rule_router_stats() {
  return {.name = "router_stats", .infer = Infer, .whole = Whole, .cost = Cost};
}

}  // namespace trireme
