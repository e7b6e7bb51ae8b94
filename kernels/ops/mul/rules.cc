// Rule of mul: a * b; b may lack leading dims of a and is then repeated over them; with the
// attribute leading = 1 it has a's first dims and is repeated over the others. Kernels, which see
// sizes and no names, could not tell.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

bool Leading(const Node& node) { return node.attrs.GetInt("leading", 0) != 0; }

// b has a's type, and a's first dims.
Status CheckFirst(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckDType(graph, node, 1, In(graph, node, 0).dtype));
  const std::vector<Dim>& dims = In(graph, node, 0).dims;
  const std::vector<Dim>& first = In(graph, node, 1).dims;
  if (first.size() <= dims.size() &&
      SameDims(DimRange(dims, 0, static_cast<int>(first.size())), first)) {
    return absl::OkStatus();
  }
  return OperandError(graph, node, 1, "its dims must be the first dims of " + ToText(dims));
}

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  RETURN_IF_ERROR(Leading(node) ? CheckFirst(graph, node) : CheckBroadcast(graph, node, 0, 1));
  return std::vector<ValueType>{{In(graph, node, 0).dims, In(graph, node, 0).dtype}};
}

void Grad(GradArgs& args) {
  const int dy = args.output_grads[0];
  if (dy < 0) return;
  GraphBuilder& builder = args.builder;
  const std::vector<int>& inputs = args.node.inputs;
  args.input_grads[0] = builder.Add1("mul", args.node.attrs, {dy, inputs[1]}, GradName(args, 0));
  const std::vector<Dim> small = In(builder.graph(), args.node, 1).dims;
  const bool repeated = small.size() < In(builder.graph(), args.node, 0).dims.size();
  int db = builder.Add1("mul", {}, {dy, inputs[0]}, GradName(args, 1) + (repeated ? ".all" : ""));
  if (repeated) {
    Attrs attrs{{"keep", NameList(small)}};
    if (Leading(args.node)) attrs.Set("leading", int64_t{1});
    db = builder.Add1("reduce_sum", attrs, {db}, GradName(args, 1));
  }
  args.input_grads[1] = db;
}

}  // namespace

OpRule Rule_mul() {
  return {.name = "mul", .infer = Infer, .linearity = Linearity::kEach, .grad = Grad};
}

}  // namespace trireme
