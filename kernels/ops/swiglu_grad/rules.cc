// Rule of swiglu_grad: gradients of swiglu for gate and up.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 3));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& dy = In(graph, node, 0);
  RETURN_IF_ERROR(CheckLike(graph, node, 1, dy.dims, dy.dtype));
  RETURN_IF_ERROR(CheckLike(graph, node, 2, dy.dims, dy.dtype));
  return std::vector<ValueType>{{dy.dims, dy.dtype}, {dy.dims, dy.dtype}};
}

}  // namespace

OpRule Rule_swiglu_grad() { return {.name = "swiglu_grad", .infer = Infer}; }

}  // namespace trireme
