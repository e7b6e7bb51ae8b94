// Rule of dequantize_blocks: `count` floats from a payload of quantize_blocks, or the sum of
// `sum_parts` payloads of the same elements that stand one after the other.
#include "kernels/ops/infer_util.h"
#include "kernels/ops/quantize_blocks/attributes.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 1));
  RETURN_IF_ERROR(CheckAttrs(node, {"count"}));
  ASSIGN_OR_RETURN(const BlockAttributes attributes, CheckBlockAttributes(node));
  RETURN_IF_ERROR(CheckRank(graph, node, 0, 1));
  RETURN_IF_ERROR(CheckDType(graph, node, 0, DType::kInt8));
  const int64_t count = node.attrs.GetInt("count");
  const int64_t payloads = node.attrs.GetInt("sum_parts", 1);
  const int64_t own = node.attrs.GetInt("own", 0);
  if (count < 0) return OpError(node, "count " + std::to_string(count) + " is negative");
  if (payloads < 1 || own < 0 || own >= payloads) {
    return OpError(node, "sum_parts " + std::to_string(payloads) + " must be at least 1 and own " +
                             std::to_string(own) + " below it");
  }
  const int64_t bytes =
      payloads * PayloadBytes(attributes.format, count, attributes.block, attributes.parts);
  if (In(graph, node, 0).dims[0].size != bytes) {
    return OperandError(
        graph, node, 0,
        "must hold " + std::to_string(bytes) + " bytes for " + std::to_string(count) + " elements");
  }
  return std::vector<ValueType>{{{{"elements", count}}, DType::kFloat32}};
}

}  // namespace

OpRule Rule_dequantize_blocks() { return {.name = "dequantize_blocks", .infer = Infer}; }

}  // namespace trireme
