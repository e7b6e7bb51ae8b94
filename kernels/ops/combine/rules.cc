// Brings the experts' rows of one wave back to their tokens, weighted by the router; dropped
// assignments add nothing. With split experts it is a partial sum. Attribute: wave.
#include "kernels/ops/dispatch_plan/check_wave.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "rows:float[shard,slot,embed] source:int32[wave,shard,slot] "
                                "weights:float[batch,position,choice]"));
  RETURN_IF_ERROR(CheckWave(node, dims.dim("wave")));
  return std::vector<ValueType>{{dims.Dims("batch,position,embed"), In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 1).dims[0].name, In(graph, node, 2).dims[2].name};
}

void Grad(GradArgs& args) {
  const int dy = args.output_grads[0];
  if (dy < 0) return;
  const std::vector<int>& in = args.node.inputs;
  args.input_grads[0] =
      args.builder.Add1("combine_grad", args.node.attrs, {dy, in[1], in[2]}, GradName(args, 0));
  args.input_grads[2] = args.builder.Add1("combine_weight_grad", args.node.attrs,
                                          {dy, in[0], in[1], in[2]}, GradName(args, 2));
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 2 * Elements(In(graph, node, 0)),
          .bytes = OperandBytes(graph, node),
          .workspace = 4 * static_cast<int64_t>(Elements(In(graph, node, 2)))};
}

}  // namespace

OpRule Rule_combine() {
  return {.name = "combine",
          .infer = Infer,
          .whole = Whole,
          .linearity = Linearity::kEach,
          .grad = Grad,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
