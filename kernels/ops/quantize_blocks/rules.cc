// Rule of quantize_blocks: x plus the error of last time as a payload of fewer bytes, and the error
// of this time. The compression of gradients writes it; see layout.h for the payload.
#include "kernels/ops/infer_util.h"
#include "kernels/ops/quantize_blocks/attributes.h"

namespace trireme {
namespace {

StatusOr<std::vector<ValueType>> Infer(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckCount(graph, node, 2));
  ASSIGN_OR_RETURN(const BlockAttributes attributes, CheckBlockAttributes(node));
  RETURN_IF_ERROR(CheckDType(graph, node, 0, DType::kFloat32));
  RETURN_IF_ERROR(CheckDType(graph, node, 1, DType::kFloat32));
  const auto count = static_cast<int64_t>(Elements(In(graph, node, 0)));
  const auto error_count = static_cast<int64_t>(Elements(In(graph, node, 1)));
  if (error_count != count) {
    return OperandError(graph, node, 1,
                        "must have the " + std::to_string(count) + " elements of operand 0");
  }
  const int64_t bytes = PayloadBytes(attributes.format, count, attributes.block, attributes.parts);
  return std::vector<ValueType>{{{{"payload", bytes}}, DType::kInt8},
                                {In(graph, node, 1).dims, DType::kFloat32}};
}

}  // namespace

OpRule Rule_quantize_blocks() { return {.name = "quantize_blocks", .infer = Infer}; }

}  // namespace trireme
