// Rule of xsa: what a position's own value gives to its attention is taken out again, y - (y.v /
// (|v|^2 + 1e-6)) v for each head (exclusive self-attention, as Marin's Grug has it). Head h uses
// kv head h / query_group.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/xsa/operands.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckXsa(graph, node, 0));
  return std::vector<ValueType>{{In(graph, node, 0).dims, In(graph, node, 0).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims[3].name};
}

std::vector<IndexAttr> Index(const Graph& graph, const Node& node) {
  return XsaIndex(graph, node, 0);
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 6 * Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

void Grad(GradArgs& args) {
  if (args.output_grads[0] < 0) return;
  const Node& node = args.node;
  args.input_grads =
      args.builder.Add("xsa_grad", {{"query_group", node.attrs.GetInt("query_group")}},
                       {args.output_grads[0], node.inputs[0], node.inputs[1]}, GradName(args, 0));
}

}  // namespace

OpRule Rule_xsa() {
  return {.name = "xsa",
          .infer = Infer,
          .whole = Whole,
          .grad = Grad,
          .cost = Cost,
          .index_attrs = Index};
}

}  // namespace trireme
