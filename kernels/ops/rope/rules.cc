// Rule of rope: rotary position embedding of the first `rotary_dim` elements of a head (absent: all
// of them), pairs (i, i + rotary_dim/2) as in Hugging Face's Llama (Su et al. 2021,
// arXiv:2104.09864). The rest of a head is copied. Its gradient is the rotation backwards.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckAttrs(node, {"theta"}));
  RETURN_IF_ERROR(CheckRank(graph, node, 0, 4));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& x = In(graph, node, 0);
  const int64_t rotary = node.attrs.GetInt("rotary_dim", x.dims[3].size);
  if (rotary % 2 != 0) {
    return OperandError(graph, node, 0,
                        node.attrs.Has("rotary_dim")
                            ? "rotary_dim " + std::to_string(rotary) + " must be even"
                            : "its last dim must be even, for it is rotated in pairs");
  }
  if (rotary < 0 || rotary > x.dims[3].size) {
    return OperandError(graph, node, 0,
                        "rotary_dim " + std::to_string(rotary) + " must be at most its last dim");
  }
  RETURN_IF_ERROR(CheckLike(graph, node, 1, DimRange(x.dims, 0, 2), DType::kInt32));
  return std::vector<ValueType>{{x.dims, x.dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims[3].name};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  const Attrs& attrs = args.node.attrs;
  const int64_t inverse = attrs.GetInt("inverse", 0) == 0 ? 1 : 0;
  Attrs backwards{{"theta", attrs.GetDouble("theta")}, {"inverse", inverse}};
  if (attrs.Has("rotary_dim")) backwards.Set("rotary_dim", attrs.GetInt("rotary_dim"));
  args.input_grads[0] = args.builder.Add1(
      "rope", backwards, {args.output_grads[0], args.node.inputs[1]}, GradName(args, 0));
}

}  // namespace

OpRule Rule_rope() {
  return {
      .name = "rope", .infer = Infer, .whole = Whole, .linearity = Linearity::kEach, .grad = Grad};
}

}  // namespace trireme
