// One vocabulary shard's part of the linear head: logsumexp over the rows that are here, and the
// target's logit if it is here. Only linear_cross_entropy's expansion writes it with a split
// vocabulary, declaring {MAX, SUM} partials.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(
      const Binding dims,
      BindOperands(graph, node, "x:float[...,embed] w:float[vocab,embed] targets:int32[...]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"vocab_size"}));
  const DType dtype = StatisticDType(In(graph, node, 0).dtype);
  return std::vector<ValueType>{{dims.leading(), dtype}, {dims.leading(), dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 1).dims[1].name};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 2 * Elements(In(graph, node, 2)) * Elements(In(graph, node, 1)),
          .bytes = OperandBytes(graph, node)};
}

std::vector<IndexAttr> IndexAttrs(const Graph& graph, const Node& node) {
  return {{"vocab_start", 1, In(graph, node, 1).dims[0].name}};
}

}  // namespace

OpRule Rule_linear_logsumexp() {
  return {.name = "linear_logsumexp",
          .infer = Infer,
          .whole = Whole,
          .cost = Cost,
          .index_attrs = IndexAttrs};
}

}  // namespace trireme
