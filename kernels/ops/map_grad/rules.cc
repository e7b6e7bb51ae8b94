// Rule of map_grad: dx = dy * f'(x) of map.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"
#include "kernels/ops/map/activation.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckAttrs(node, {"kind"}));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& dy = In(graph, node, 0);
  RETURN_IF_ERROR(CheckLike(graph, node, 1, dy.dims, dy.dtype));
  if (!ParseActivation(node.attrs.GetString("kind"))) {
    return OpError(node,
                   "kind is " + node.attrs.GetString("kind") + ", can be " + kActivationNames);
  }
  return std::vector<ValueType>{{dy.dims, dy.dtype}};
}

}  // namespace

OpRule Rule_map_grad() { return {.name = "map_grad", .infer = Infer}; }

}  // namespace trireme
