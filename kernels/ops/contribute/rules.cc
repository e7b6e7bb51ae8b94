// out = x on the owner (attribute owner 0 or absent), 0 elsewhere: readies numbers that several
// ranks hold for a sum over all of them.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims, BindOperands(graph, node, "x:float64[...]"));
  return std::vector<ValueType>{{dims.leading(), DType::kFloat64}};
}

}  // namespace

OpRule Rule_contribute() {
  return {.name = "contribute", .infer = Infer, .accumulating_outputs = {0}};
}

}  // namespace trireme
