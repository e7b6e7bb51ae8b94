// Initial values of a parameter. Attributes: kind (zeros, ones, normal, truncated_normal: cut at
// three deviations), std (before it is cut), seed, stream, global_sizes (logical), start_0,
// start_1, ... (first global index of each dim); for graphs written by hand, sizes and dtype of the
// output.
#include "kernels/ops/signature.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 0));
  RETURN_IF_ERROR(CheckAttrs(node, {"kind", "std", "seed", "stream", "global_sizes", "sizes"}));
  const std::string& kind = node.attrs.GetString("kind");
  if (kind != "zeros" && kind != "ones" && kind != "normal" && kind != "truncated_normal") {
    return OpError(node, "unknown kind " + kind + "; known: zeros, ones, normal, truncated_normal");
  }
  const std::vector<int64_t>& sizes = node.attrs.GetInts("sizes");
  if (sizes.size() != node.attrs.GetInts("global_sizes").size()) {
    return OpError(node, "sizes and global_sizes must have one entry a dim");
  }
  ValueType out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    out.dims.push_back({.name = "d" + std::to_string(i), .size = sizes[i]});
  }
  if (node.attrs.Has("dtype")) {
    ASSIGN_OR_RETURN(out.dtype, ParseDType(node.attrs.GetString("dtype")));
  }
  return std::vector<ValueType>{out};
}

OpCost Cost(const Graph& graph, const Node& node) {
  return {.flops = 50 * Elements(graph.value(node.outputs[0])), .bytes = OperandBytes(graph, node)};
}

std::vector<IndexAttr> IndexAttrs(const Graph& graph, const Node& node) {
  std::vector<IndexAttr> attrs;
  for (const Dim& dim : graph.value(node.outputs[0]).dims) {
    attrs.push_back({"start_" + std::to_string(attrs.size()), 0, dim.name});
  }
  return attrs;
}

}  // namespace

OpRule Rule_random_fill() {
  return {.name = "random_fill", .infer = Infer, .cost = Cost, .index_attrs = IndexAttrs};
}

}  // namespace trireme
