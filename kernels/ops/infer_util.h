// Checks that the rules of many ops share. Each returns kInvalidArgument naming the op, the operand
// with its dims, and what would be right.
#ifndef TRIREME_KERNELS_OPS_INFER_UTIL_H_
#define TRIREME_KERNELS_OPS_INFER_UTIL_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "kernels/ops/rule.h"

namespace trireme {

// The value of input `i`.
inline const Value& In(const Graph& graph, const Node& node, int i) {
  return graph.value(node.inputs[i]);
}

// kInvalidArgument "op: message".
Status OpError(const Node& node, std::string_view message);
// The same about input `i`: "op: operand 1 (w) [embed 8] float32: message".
Status OperandError(const Graph& graph, const Node& node, int i, std::string_view message);

Status CheckCount(const Graph& graph, const Node& node, int count);
// All of `names` are among the attributes.
Status CheckAttrs(const Node& node, const std::vector<std::string>& names);

Status CheckRank(const Graph& graph, const Node& node, int i, int rank);
Status CheckFloat(const Graph& graph, const Node& node, int i);  // float32 or float64
Status CheckDType(const Graph& graph, const Node& node, int i, DType dtype);
// Names and logical sizes are those of `dims`, in order.
Status CheckDims(const Graph& graph, const Node& node, int i, const std::vector<Dim>& dims);
// Dims as `dims` and type `dtype`.
Status CheckLike(const Graph& graph, const Node& node, int i, const std::vector<Dim>& dims,
                 DType dtype);
// Input `small` has input `big`'s type, and its dims are the last of input `big`'s (so that a
// kernel, which sees sizes and no names, knows which they are).
Status CheckBroadcast(const Graph& graph, const Node& node, int big, int small);

// Same names and logical sizes.
bool SameDims(const std::vector<Dim>& a, const std::vector<Dim>& b);
// dims[begin, end).
std::vector<Dim> DimRange(const std::vector<Dim>& dims, int begin, int end);
// "batch,position": the comma list that reduce_sum's `keep` takes.
std::string NameList(const std::vector<Dim>& dims);
// Type of a statistic that goes with a tensor of `dtype`: float64 for float64, else float32.
DType StatisticDType(DType dtype);
// Name for the gradient of input `i` of the node: "d." and the input's name.
std::string GradName(const GradArgs& args, int i);
// Physical elements of a value.
double Elements(const Value& value);
// Bytes of all operands and outputs, each once.
int64_t OperandBytes(const Graph& graph, const Node& node);

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_INFER_UTIL_H_
