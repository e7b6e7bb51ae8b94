// The checks behind infer_util.h.
#include "kernels/ops/infer_util.h"

#include "kernels/ops/graph_builder.h"

namespace trireme {
namespace {

std::string Text(std::string_view text) { return std::string(text); }

}  // namespace

Status OpError(const Node& node, std::string_view message) {
  return InvalidArgument(node.op + ": " + Text(message));
}

Status OperandError(const Graph& graph, const Node& node, int i, std::string_view message) {
  const Value& value = In(graph, node, i);
  return OpError(node, "operand " + std::to_string(i) + " (" + value.name + ") " +
                           ToText(value.dims) + " " + Text(Name(value.dtype)) + ": " +
                           Text(message));
}

Status CheckCount(const Graph&, const Node& node, int count) {
  const int have = static_cast<int>(node.inputs.size());
  if (have == count) return absl::OkStatus();
  return OpError(node, "has " + std::to_string(have) + " operands, takes " + std::to_string(count));
}

Status CheckAttrs(const Node& node, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!node.attrs.Has(name)) return OpError(node, "needs the attribute " + name);
  }
  return absl::OkStatus();
}

Status CheckRank(const Graph& graph, const Node& node, int i, int rank) {
  if (static_cast<int>(In(graph, node, i).dims.size()) == rank) return absl::OkStatus();
  return OperandError(graph, node, i, "must have " + std::to_string(rank) + " dims");
}

Status CheckFloat(const Graph& graph, const Node& node, int i) {
  const DType dtype = In(graph, node, i).dtype;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return absl::OkStatus();
  return OperandError(graph, node, i, "must be float32 or float64");
}

Status CheckDType(const Graph& graph, const Node& node, int i, DType dtype) {
  if (In(graph, node, i).dtype == dtype) return absl::OkStatus();
  return OperandError(graph, node, i, "must be " + Text(Name(dtype)));
}

Status CheckDims(const Graph& graph, const Node& node, int i, const std::vector<Dim>& dims) {
  if (SameDims(In(graph, node, i).dims, dims)) return absl::OkStatus();
  return OperandError(graph, node, i, "must have dims " + ToText(dims));
}

Status CheckLike(const Graph& graph, const Node& node, int i, const std::vector<Dim>& dims,
                 DType dtype) {
  RETURN_IF_ERROR(CheckDims(graph, node, i, dims));
  return CheckDType(graph, node, i, dtype);
}

Status CheckBroadcast(const Graph& graph, const Node& node, int big, int small) {
  RETURN_IF_ERROR(CheckDType(graph, node, small, In(graph, node, big).dtype));
  const std::vector<Dim>& dims = In(graph, node, big).dims;
  const std::vector<Dim>& last = In(graph, node, small).dims;
  const int skipped = static_cast<int>(dims.size()) - static_cast<int>(last.size());
  if (skipped >= 0 && SameDims(DimRange(dims, skipped, static_cast<int>(dims.size())), last)) {
    return absl::OkStatus();
  }
  return OperandError(graph, node, small, "its dims must be the last dims of " + ToText(dims));
}

bool SameDims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].size != b[i].size) return false;
  }
  return true;
}

std::vector<Dim> DimRange(const std::vector<Dim>& dims, int begin, int end) {
  return {dims.begin() + begin, dims.begin() + end};
}

std::string NameList(const std::vector<Dim>& dims) {
  std::string list;
  for (const Dim& dim : dims) list += (list.empty() ? "" : ",") + dim.name;
  return list;
}

DType StatisticDType(DType dtype) {
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

std::string GradName(const GradArgs& args, int i) {
  return "d." + In(args.builder.graph(), args.node, i).name;
}

double Elements(const Value& value) {
  double count = 1;
  for (const Dim& dim : value.dims) count *= static_cast<double>(dim.physical());
  return count;
}

int64_t OperandBytes(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (const std::vector<int>* list : {&node.inputs, &node.outputs}) {
    for (const int id : *list) {
      const Value& value = graph.value(id);
      bytes += static_cast<int64_t>(Elements(value)) * SizeOf(value.dtype);
    }
  }
  return bytes;
}

}  // namespace trireme
