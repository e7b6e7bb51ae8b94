// Gathers tokens into the rows of one wave's pool, as dispatch_plan's source says; empty slots are
// 0. Attributes: wave, choices (of a token). Its gradient is written by expert_mlp, which has the
// ids that dispatch_grad takes.
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node, "x:float[batch,position,embed] source:int32[wave,shard,slot]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  RETURN_IF_ERROR(CheckAttrs(node, {"choices"}));
  if (node.attrs.GetInt("choices") < 1) {
    return OpError(
        node, "choices=" + std::to_string(node.attrs.GetInt("choices")) + " must be at least 1");
  }
  return std::vector<ValueType>{{dims.Dims("shard,slot,embed"), In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 1).dims[0].name};
}

}  // namespace

OpRule Rule_dispatch() {
  return {.name = "dispatch", .infer = Infer, .whole = Whole, .linearity = Linearity::kEach};
}

}  // namespace trireme
