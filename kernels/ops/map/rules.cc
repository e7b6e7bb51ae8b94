// Rule of map: an activation, element by element.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"
#include "kernels/ops/map/activation.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 1));
  RETURN_IF_ERROR(CheckAttrs(node, {"kind"}));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  if (!ParseActivation(node.attrs.GetString("kind"))) {
    return OpError(node,
                   "kind is " + node.attrs.GetString("kind") + ", can be " + kActivationNames);
  }
  return std::vector<ValueType>{{In(graph, node, 0).dims, In(graph, node, 0).dtype}};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  args.input_grads[0] =
      args.builder.Add1("map_grad", {{"kind", args.node.attrs.GetString("kind")}},
                        {args.output_grads[0], args.node.inputs[0]}, GradName(args, 0));
}

}  // namespace

OpRule Rule_map() { return {.name = "map", .infer = Infer, .grad = Grad}; }

}  // namespace trireme
