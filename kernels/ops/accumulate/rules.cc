// Rule of accumulate: x added into its output (or copied there, the first time). Both
// may be strided.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 1));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  return std::vector<ValueType>{{In(graph, node, 0).dims, In(graph, node, 0).dtype}};
}

}  // namespace

OpRule Rule_accumulate() {
  return {.name = "accumulate",
          .infer = Infer,
          .linearity = Linearity::kJoint,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
