// Gradient of combine for rows and weights. With split experts or embed, dweights is a partial sum.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

constexpr int kWeights = 3;

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "dy:float[...,embed] rows:float[expert,slot,embed] "
                                "index:int32[expert,slot] weights:float[...,choice]"));
  return std::vector<ValueType>{{dims.Dims("expert,slot,embed"), In(graph, node, 1).dtype},
                                {dims.Dims("...,choice"), In(graph, node, kWeights).dtype}};
}

// The index counts the tokens of its own shard of the batch; within it they are all there.
std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  std::vector<std::string> names = DimNames(In(graph, node, kWeights).dims);
  names.erase(names.begin());
  return names;
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 3 * Elements(In(graph, node, 1)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_combine_grad() {
  return {.name = "combine_grad", .infer = Infer, .whole = Whole, .cost = Cost};
}

}  // namespace trireme
