// Rule of swiglu: silu(gate) * up, the gated activation of Llama's MLP (Shazeer 2020,
// arXiv:2002.05202).
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& gate = In(graph, node, 0);
  RETURN_IF_ERROR(CheckLike(graph, node, 1, gate.dims, gate.dtype));
  return std::vector<ValueType>{{gate.dims, gate.dtype}};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  args.input_grads = args.builder.Add(
      "swiglu_grad", {}, {args.output_grads[0], args.node.inputs[0], args.node.inputs[1]},
      GradName(args, 0));
}

}  // namespace

OpRule Rule_swiglu() { return {.name = "swiglu", .infer = Infer, .grad = Grad}; }

}  // namespace trireme
