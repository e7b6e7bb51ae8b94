// Rule of add: a + b; b may lack leading dims of a and is then repeated over them.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  RETURN_IF_ERROR(CheckBroadcast(graph, node, 0, 1));
  return std::vector<ValueType>{{In(graph, node, 0).dims, In(graph, node, 0).dtype}};
}

void Grad(GradArgs& args) {
  const int dy = args.output_grads[0];
  if (dy < 0) return;
  const Graph& graph = args.builder.graph();
  args.input_grads[0] = dy;
  args.input_grads[1] = dy;
  const std::vector<Dim> small = In(graph, args.node, 1).dims;
  if (small.size() < In(graph, args.node, 0).dims.size()) {
    args.input_grads[1] =
        args.builder.Add1("reduce_sum", {{"keep", NameList(small)}}, {dy}, GradName(args, 1));
  }
}

}  // namespace

OpRule Rule_add() {
  return {.name = "add", .infer = Infer, .linearity = Linearity::kJoint, .grad = Grad};
}

}  // namespace trireme
