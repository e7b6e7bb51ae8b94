// Rule of copy: x in other memory, where strides may differ on both sides.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 1));
  return std::vector<ValueType>{{In(graph, node, 0).dims, In(graph, node, 0).dtype}};
}

void Grad(GradArgs& args) { args.input_grads[0] = args.output_grads[0]; }

}  // namespace

OpRule Rule_copy() {
  return {.name = "copy", .infer = Infer, .linearity = Linearity::kJoint, .grad = Grad};
}

}  // namespace trireme
