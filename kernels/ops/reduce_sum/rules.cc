// Sum over all dims that are not kept. Attributes: keep, a comma list of dim names in x's order;
// dims, the names of all of x's dims, needed where the kept ones are not x's last (kernels see no
// names); dtype, the output's type (x's when absent).
#include "kernels/ops/reduce_sum/kept.h"
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<DType> OutputType(const Graph& graph, const Node& node) {
  if (!node.attrs.Has("dtype")) return In(graph, node, 0).dtype;
  ASSIGN_OR_RETURN(const DType dtype, ParseDType(node.attrs.GetString("dtype")));
  if (StatisticDType(dtype) == dtype) return dtype;
  return OpError(node, "dtype must be float32 or float64");
}

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(BindOperands(graph, node, "x:float[...]").status());
  RETURN_IF_ERROR(CheckAttrs(node, {"keep"}));
  const std::vector<Dim>& x_dims = In(graph, node, 0).dims;
  if (node.attrs.Has("dims") && node.attrs.GetString("dims") != NameList(x_dims)) {
    return OperandError(graph, node, 0, "the attribute dims must be " + NameList(x_dims));
  }
  const std::string& keep = node.attrs.GetString("keep");
  if (SplitNames(keep).size() > x_dims.size()) {
    return OperandError(graph, node, 0, "cannot keep " + keep);
  }
  std::vector<Dim> dims;
  for (const int i : KeptDims(node.attrs, static_cast<int>(x_dims.size()))) {
    dims.push_back(x_dims[i]);
  }
  if (NameList(dims) != keep) {
    return OperandError(graph, node, 0,
                        "cannot keep " + keep +
                            ": name dims of it in its order, and give the attribute dims where "
                            "they are not its last ones");
  }
  ASSIGN_OR_RETURN(const DType dtype, OutputType(graph, node));
  return std::vector<ValueType>{{dims, dtype}};
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
