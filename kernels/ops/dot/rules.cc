// Rule of dot: einsum of two operands; letters in both operands and not in the output are summed,
// letters in all three are batch dims. Both gradients are dots again. All operands may be strided.
#include "kernels/ops/dot/equation.h"
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

// Fills the dim of each letter from operand `i`. Errors: rank, or a letter that is two different
// dims.
Status BindLetters(const Graph& graph, const Node& node, int i, const std::string& letters,
                   std::vector<Dim>& bound) {
  RETURN_IF_ERROR(CheckRank(graph, node, i, static_cast<int>(letters.size())));
  RETURN_IF_ERROR(CheckFloat(graph, node, i));
  for (size_t d = 0; d < letters.size(); ++d) {
    const Dim& dim = In(graph, node, i).dims[d];
    Dim& slot = bound[letters[d] - 'a'];
    if (slot.name.empty()) slot = dim;
    if (slot.name != dim.name || slot.size != dim.size) {
      return OperandError(graph, node, i,
                          std::string("letter ") + letters[d] + " of equation " +
                              node.attrs.GetString("equation") + " is " +
                              ToText(std::vector<Dim>{slot}) + " in operand 0; both must agree");
    }
  }
  return absl::OkStatus();
}

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckAttrs(node, {"equation"}));
  ASSIGN_OR_RETURN(const Equation equation, ParseEquation(node.attrs.GetString("equation")));
  std::vector<Dim> bound(26);
  RETURN_IF_ERROR(BindLetters(graph, node, 0, equation.a, bound));
  RETURN_IF_ERROR(BindLetters(graph, node, 1, equation.b, bound));
  const DType dtype = In(graph, node, 0).dtype;
  RETURN_IF_ERROR(CheckDType(graph, node, 1, dtype));
  std::vector<Dim> dims;
  for (const char letter : equation.out) dims.push_back(bound[letter - 'a']);
  return std::vector<ValueType>{{dims, dtype}};
}

std::vector<std::string> Names(const Value& value) {
  std::vector<std::string> names;
  for (const Dim& dim : value.dims) names.push_back(dim.name);
  return names;
}

void Grad(GradArgs& args) {
  const int dy = args.output_grads[0];
  if (dy < 0) return;
  const std::vector<std::string> a = Names(In(args.builder.graph(), args.node, 0));
  const std::vector<std::string> b = Names(In(args.builder.graph(), args.node, 1));
  args.input_grads[0] = args.builder.Dot(dy, args.node.inputs[1], a, GradName(args, 0));
  args.input_grads[1] = args.builder.Dot(args.node.inputs[0], dy, b, GradName(args, 1));
}

OpCost Cost(const Graph& graph, const Node& node) {
  const StatusOr<Equation> equation = ParseEquation(node.attrs.GetString("equation"));
  double flops = 2 * Elements(In(graph, node, 0));
  for (size_t d = 0; d < equation->b.size(); ++d) {
    if (!HasLetter(equation->a, equation->b[d])) {
      flops *= static_cast<double>(In(graph, node, 1).dims[d].physical());
    }
  }
  return {.flops = flops, .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_dot() {
  return {.name = "dot",
          .infer = Infer,
          .linearity = Linearity::kEach,
          .grad = Grad,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
