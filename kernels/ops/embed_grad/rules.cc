// Rule of embed_grad: gradient of embed_lookup's table: rows of dy added up by id. The table's own
// dim comes from attributes, for no input has it.
#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  RETURN_IF_ERROR(CheckAttrs(node, {"dim", "size"}));
  RETURN_IF_ERROR(CheckFloat(graph, node, 0));
  const Value& dy = In(graph, node, 0);
  if (dy.dims.empty()) return OperandError(graph, node, 0, "must have the embed dim last");
  const std::vector<Dim> tokens = DimRange(dy.dims, 0, static_cast<int>(dy.dims.size()) - 1);
  RETURN_IF_ERROR(CheckLike(graph, node, 1, tokens, DType::kInt32));
  const Dim rows{.name = node.attrs.GetString("dim"), .size = node.attrs.GetInt("size")};
  if (rows.size < 1) return OpError(node, "size is " + std::to_string(rows.size) + ", must be > 0");
  return std::vector<ValueType>{{{rows, dy.dims.back()}, dy.dtype}};
}

std::vector<IndexAttr> Index(const Graph&, const Node& node) {
  return {{"vocab_start", 2, node.attrs.GetString("dim")}};
}

}  // namespace

OpRule Rule_embed_grad() {
  return {.name = "embed_grad", .infer = Infer, .index_attrs = Index, .accumulating_outputs = {0}};
}

}  // namespace trireme
