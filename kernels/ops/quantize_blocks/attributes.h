// Attributes that quantize_blocks and dequantize_blocks share, as their rules check and their
// kernels read them.
#ifndef TRIREME_KERNELS_OPS_QUANTIZE_BLOCKS_ATTRIBUTES_H_
#define TRIREME_KERNELS_OPS_QUANTIZE_BLOCKS_ATTRIBUTES_H_

#include <string>

#include "common/base/check.h"
#include "common/base/status.h"
#include "kernels/ops/infer_util.h"
#include "kernels/ops/quantize_blocks/layout.h"

namespace trireme {

struct BlockAttributes {
  BlockFormat format = BlockFormat::kInt8;
  int64_t block = kDefaultQuantizeBlock;
  int64_t parts = 1;
};

// Errors: kInvalidArgument naming the attribute and what it can be.
inline StatusOr<BlockAttributes> CheckBlockAttributes(const Node& node) {
  RETURN_IF_ERROR(CheckAttrs(node, {"format"}));
  const std::string& name = node.attrs.GetString("format");
  const auto format = ParseBlockFormat(name);
  if (!format.has_value()) {
    return OpError(node, "format \"" + name + "\" is not known; it can be int8 or bf16");
  }
  const int64_t block = node.attrs.GetInt("block", kDefaultQuantizeBlock);
  if (block < 4 || block % 4 != 0) {
    return OpError(node, "block " + std::to_string(block) + " must be a positive multiple of 4");
  }
  const int64_t parts = node.attrs.GetInt("parts", 1);
  if (parts < 1) return OpError(node, "parts " + std::to_string(parts) + " must be at least 1");
  return BlockAttributes{*format, block, parts};
}

// Attributes that CheckBlockAttributes has accepted.
inline BlockAttributes ReadBlockAttributes(const Attrs& attrs) {
  const auto format = ParseBlockFormat(attrs.GetString("format"));
  CHECK(format.has_value()) << "format " << attrs.GetString("format");
  return {*format, attrs.GetInt("block", kDefaultQuantizeBlock), attrs.GetInt("parts", 1)};
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_QUANTIZE_BLOCKS_ATTRIBUTES_H_
