// Node writing and the two helpers every model uses.
#include "kernels/ops/graph_builder.h"

#include <map>

#include "common/base/check.h"

namespace trireme {
namespace {

// Letters for einsum: each dim name gets one, in order of first appearance.
std::string Letters(const std::vector<std::string>& names, std::map<std::string, char>& letters) {
  std::string text;
  for (const std::string& name : names) {
    const auto [it, added] = letters.try_emplace(name, static_cast<char>('a' + letters.size()));
    text += it->second;
  }
  return text;
}

std::vector<std::string> DimNames(const Value& value) {
  std::vector<std::string> names;
  for (const Dim& dim : value.dims) names.push_back(dim.name);
  return names;
}

}  // namespace

int GraphBuilder::Input(const std::string& name, const std::vector<Dim>& dims, DType dtype) {
  for (const Value& value : graph_.values) {
    if (value.kind == ValueKind::kInput && value.name == name) return value.id;
  }
  return graph_.AddValue(
      {.name = name, .dims = dims, .dtype = dtype, .kind = ValueKind::kInput, .region = region_});
}

int GraphBuilder::EdgeIn(const std::string& name, const std::vector<Dim>& dims) {
  const int slot = static_cast<int>(graph_.edges_in.size());
  const int id = graph_.AddValue(
      {.name = name, .dims = dims, .kind = ValueKind::kEdgeIn, .region = "residual", .slot = slot});
  graph_.edges_in.push_back(id);
  return id;
}

int GraphBuilder::Param(const LogicalTensor& tensor) {
  const int index = static_cast<int>(graph_.tensors.size());
  graph_.tensors.push_back(tensor);
  return graph_.AddValue({.name = tensor.name,
                          .dims = tensor.dims,
                          .dtype = tensor.dtype,
                          .kind = ValueKind::kParam,
                          .region = tensor.region,
                          .tensor = index});
}

std::vector<int> GraphBuilder::Add(const std::string& op, const Attrs& attrs,
                                   const std::vector<int>& inputs, const std::string& name) {
  Node node{.op = op, .attrs = attrs, .inputs = inputs, .phase = phase_, .region = region_};
  const StatusOr<std::vector<ValueType>> types = FindRule(op).infer(graph_, node);
  CHECK(types.ok()) << op << " " << name << ": " << types.status().ToString();
  for (size_t i = 0; i < types->size(); ++i) {
    const ValueType& type = (*types)[i];
    node.outputs.push_back(graph_.AddValue({.name = i == 0 ? name : name + "." + std::to_string(i),
                                            .dims = type.dims,
                                            .dtype = type.dtype,
                                            .region = region_}));
  }
  std::vector<int> outputs = node.outputs;
  graph_.AddNode(std::move(node));
  return outputs;
}

int GraphBuilder::Dot(int a, int b, const std::vector<std::string>& out_dims,
                      const std::string& name) {
  std::map<std::string, char> letters;
  std::string equation = Letters(DimNames(graph_.value(a)), letters) + ",";
  equation += Letters(DimNames(graph_.value(b)), letters) + "->";
  equation += Letters(out_dims, letters);
  return Add1("dot", {{"equation", equation}}, {a, b}, name);
}

int GraphBuilder::Rename(int value, const std::string& region,
                         const std::vector<std::pair<std::string, std::string>>& dims,
                         const std::string& name) {
  std::string pairs;
  for (const auto& [from, to] : dims) pairs += (pairs.empty() ? "" : ",") + from + ":" + to;
  const std::string previous = region_;
  region_ = region;
  const int out =
      Add1("rename", {{"dims", pairs}, {"from_region", graph_.value(value).region}}, {value}, name);
  region_ = previous;
  return out;
}

}  // namespace trireme
