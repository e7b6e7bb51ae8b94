// Gradient of linear_cross_entropy for x and w from the kept lse: the logits are computed again,
// one shard at a time.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  ASSIGN_OR_RETURN(const Binding dims,
                   BindOperands(graph, node,
                                "x:float[...,embed] w:float[vocab,embed] targets:int32[...] "
                                "weights:float[...] lse:float[...] dloss:float64[]"));
  RETURN_IF_ERROR(CheckAttrs(node, {"vocab_size"}));
  return std::vector<ValueType>{{dims.Dims("...,embed"), In(graph, node, 0).dtype},
                                {dims.Dims("vocab,embed"), In(graph, node, 1).dtype}};
}

std::vector<std::string> Whole(const Graph& graph, const Node& node) {
  return {In(graph, node, 1).dims[1].name};
}

// Logits, dx and dw: three products.
OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 6 * Elements(In(graph, node, 2)) * Elements(In(graph, node, 1)),
          .bytes = OperandBytes(graph, node)};
}

std::vector<IndexAttr> IndexAttrs(const Graph& graph, const Node& node) {
  return {{"vocab_start", 1, In(graph, node, 1).dims[0].name}};
}

}  // namespace

OpRule Rule_linear_cross_entropy_grad() {
  return {.name = "linear_cross_entropy_grad",
          .infer = Infer,
          .whole = Whole,
          .cost = Cost,
          .index_attrs = IndexAttrs,
          .accumulating_outputs = {1}};
}

}  // namespace trireme
