// Gradient of dispatch for x: sums the rows that hold copies of a token. With split experts it is a
// partial sum.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "drows:float[expert,slot,embed] index:int32[expert,slot] "
                                "ids:int32[...,choice]"));
  return std::vector<ValueType>{{dims.Dims("...,embed"), In(graph, node, 0).dtype}};
}

// The index counts the tokens of its own shard of the batch; within it they are all there.
std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  std::vector<std::string> names = DimNames(In(graph, node, 2).dims);
  names.erase(names.begin());
  return names;
}

}  // namespace

OpRule Rule_dispatch_grad() {
  return {.name = "dispatch_grad", .infer = Infer, .whole = Whole, .linearity = Linearity::kEach};
}

}  // namespace trireme
