// Sum over leading dims. The attribute keep is the comma list of the names of x's last dims, "" for
// none; with leading = 1 of its first dims, and the others are summed. dtype is the output's type
// (x's when absent).
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<DType> OutputType(const Graph& graph, const Node& node) {
  if (!node.attrs.Has("dtype")) return In(graph, node, 0).dtype;
  ASSIGN_OR_RETURN(const DType dtype, ParseDType(node.attrs.GetString("dtype")));
  if (StatisticDType(dtype) == dtype) return dtype;
  return OpError(node, "dtype must be float32 or float64");
}

// Kernels see sizes and no names, so they could not tell which dims to keep if these were neither
// the last nor, by an attribute, the first.
StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(BindOperands(graph, node, "x:float[...]").status());
  RETURN_IF_ERROR(CheckAttrs(node, {"keep"}));
  ASSIGN_OR_RETURN(const DType dtype, OutputType(graph, node));
  const std::string& keep = node.attrs.GetString("keep");
  const bool leading = node.attrs.GetInt("leading", 0) != 0;
  const std::vector<Dim>& dims = In(graph, node, 0).dims;
  for (size_t begin = 0; begin <= dims.size(); ++begin) {
    const auto middle = dims.begin() + static_cast<int64_t>(begin);
    const std::vector<Dim> kept =
        leading ? std::vector<Dim>(dims.begin(), middle) : std::vector<Dim>(middle, dims.end());
    if (NameList(kept) == keep) return std::vector<ValueType>{{kept, dtype}};
  }
  return OperandError(
      graph, node, 0,
      "cannot keep '" + keep + "': name its " + (leading ? "first" : "last") + " dims, in order");
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = Elements(In(graph, node, 0)), .bytes = OperandBytes(graph, node)};
}

}  // namespace

OpRule Rule_reduce_sum() {
  return {.name = "reduce_sum",
          .infer = Infer,
          .linearity = Linearity::kJoint,
          .cost = Cost,
          .accumulating_outputs = {0}};
}

}  // namespace trireme
