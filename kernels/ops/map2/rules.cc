// Elementwise functions of two tensors, for expansions: exp_diff is exp(a - b), add_log is a +
// log(b).
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims, BindOperands(graph, node, "a:float[...] b:float[...]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"kind"}));
  const std::string& kind = node.attrs.GetString("kind");
  if (kind != "exp_diff" && kind != "add_log") {
    return OpError(node, "unknown kind " + kind + "; known: exp_diff, add_log");
  }
  return std::vector<ValueType>{{dims.leading(), In(graph, node, 0).dtype}};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 10 * Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_map2() { return {.name = "map2", .infer = Infer, .cost = Cost}; }

}  // namespace trireme
