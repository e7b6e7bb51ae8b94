// Rule of fill: a scalar constant. (The kernel fills whatever shape the compiler gives it.)
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 0));
  RETURN_IF_ERROR(CheckAttrs(node, {"value", "dtype"}));
  ASSIGN_OR_RETURN(const DType dtype, ParseDType(node.attrs.GetString("dtype")));
  if (SizeOf(dtype) < 4) {
    return OpError(
        node, "dtype is " + node.attrs.GetString("dtype") + ", can be float32, float64 or int32");
  }
  return std::vector<ValueType>{{{}, dtype}};
}

}  // namespace

OpRule Rule_fill() { return {.name = "fill", .infer = Infer}; }

}  // namespace trireme
