// stats = {sum of x^2 over finite elements, number of non-finite elements}. The attribute owner
// (default 0) is the rank's number among holders of the same elements: only holder 0 contributes,
// others give zeros.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(BindOperands(graph, node, "x:float[...]").status());
  return std::vector<ValueType>{{{{.name = "stat", .size = 2}}, DType::kFloat64}};
}

std::vector<std::string> Whole(const Graph&, const Node&) { return {"stat"}; }

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 2 * Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_sum_squares() {
  return {.name = "sum_squares",
          .infer = Infer,
          .whole = Whole,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
