// Rule of xsa_grad: gradients of xsa for y and v. dv sums over the heads of a kv head: where heads
// are split and kv_heads whole it is a partial sum.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/xsa/operands.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 3));
  RETURN_IF_ERROR(CheckXsa(graph, node, 1));
  const Value& y = In(graph, node, 1);
  RETURN_IF_ERROR(CheckLike(graph, node, 0, y.dims, y.dtype));
  return std::vector<ValueType>{{y.dims, y.dtype}, {In(graph, node, 2).dims, y.dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 0).dims[3].name};
}

std::vector<IndexAttr> Index(const Graph& graph, const Node& node) {
  return XsaIndex(graph, node, 1);
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 14 * Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_xsa_grad() {
  return {.name = "xsa_grad", .infer = Infer, .whole = Whole, .cost = Cost, .index_attrs = Index};
}

}  // namespace trireme
