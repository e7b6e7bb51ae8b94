// Rule of mul: a * b; b may lack leading dims of a and is then repeated over them.
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
  GraphBuilder& builder = args.builder;
  const std::vector<int>& inputs = args.node.inputs;
  args.input_grads[0] = builder.Add1("mul", {}, {dy, inputs[1]}, GradName(args, 0));
  const std::vector<Dim> small = In(builder.graph(), args.node, 1).dims;
  const bool repeated = small.size() < In(builder.graph(), args.node, 0).dims.size();
  int db = builder.Add1("mul", {}, {dy, inputs[0]}, GradName(args, 1) + (repeated ? ".all" : ""));
  if (repeated) {
    db = builder.Add1("reduce_sum", {{"keep", NameList(small)}}, {db}, GradName(args, 1));
  }
  args.input_grads[1] = db;
}

}  // namespace

OpRule Rule_mul() {
  return {.name = "mul", .infer = Infer, .linearity = Linearity::kEach, .grad = Grad};
}

}  // namespace trireme
