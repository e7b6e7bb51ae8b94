// Brings the experts' rows back to their tokens, weighted by the router; dropped assignments add
// nothing. With split experts it is a partial sum.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "rows:float[expert,slot,embed] index:int32[expert,slot] "
                                "weights:float[...,choice]"));
  return std::vector<ValueType>{{dims.Dims("...,embed"), In(graph, node, 0).dtype}};
}

// The index counts the tokens of its own shard of the batch; within it they are all there.
std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  std::vector<std::string> names = DimNames(In(graph, node, 2).dims);
  names.erase(names.begin());
  return names;
}

void Grad(GradArgs& args) {
  const int dy = args.output_grads[0];
  if (dy < 0) return;
  const std::vector<int>& in = args.node.inputs;
  const std::vector<int> grads =
      args.builder.Add("combine_grad", {}, {dy, in[0], in[1], in[2]}, GradName(args, 0));
  args.input_grads[0] = grads[0];
  args.input_grads[2] = grads[1];
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 2 * Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_combine() {
  return {.name = "combine",
          .infer = Infer,
          .whole = Whole,
          .linearity = Linearity::kEach,
          .grad = Grad,
          .cost = Cost};
}

}  // namespace trireme
