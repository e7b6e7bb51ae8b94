// Gradient of combine for rows and weights. With split experts or embed, dweights is a partial sum.
// Attribute: wave.
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

constexpr int kSource = 2;
constexpr int kWeights = 3;

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node,
                   "dy:float[batch,position,embed] rows:float[shard,slot,embed] "
                   "source:int32[wave,shard,slot] weights:float[batch,position,choice]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  return std::vector<ValueType>{
      {dims.Dims("shard,slot,embed"), In(graph, node, 1).dtype},
      {dims.Dims("batch,position,choice"), In(graph, node, kWeights).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, kSource).dims[0].name, In(graph, node, kWeights).dims[2].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 3 * Elements(In(graph, node, 1)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_combine_grad() {
  return {.name = "combine_grad",
          .infer = Infer,
          .whole = Whole,
          .cost = Cost,
          .accumulating_outputs = {1}};
}

}  // namespace trireme
