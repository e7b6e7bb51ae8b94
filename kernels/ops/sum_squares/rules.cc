// stats = {sum of x^2 over finite elements, number of non-finite elements}. The attribute owner
// (default 0) is the rank's number among holders of the same elements: only holder 0 contributes,
// others give zeros.
#include "kernels/ops/signature.h"
#include "kernels/ops/sum_squares/partials.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(BindOperands(graph, node, "x:float[...]").status());
  return std::vector<ValueType>{{{{.name = "stat", .size = 2}}, DType::kFloat64}};
}

std::vector<std::string> Whole(const Graph&, const Node&) { return {"stat"}; }

OpCost Cost(const Graph& graph, const Node& node) {
  const double elements = Elements(In(graph, node, 0));
  return {.flops = 2 * elements,
          .bytes = OperandBytes(graph, node),
          .workspace = SumSquaresScratchBytes(static_cast<int64_t>(elements))};
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
