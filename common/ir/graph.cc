// Text form of graphs.
#include "common/ir/graph.h"

#include <sstream>

namespace trireme {
namespace {

std::string ValueText(const Graph& graph, int id, const Mesh* mesh) {
  const Value& value = graph.value(id);
  std::string text = "%" + std::to_string(id) + ":" + value.name;
  if (mesh != nullptr) return text + ToText(*mesh, value.dims, value.sharding);
  return text + ToText(value.dims);
}

}  // namespace

std::string_view Name(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "F";
    case Phase::kBackward:
      return "B";
    case Phase::kWeightGrad:
      return "W";
    case Phase::kInit:
      return "INIT";
    case Phase::kGather:
      return "G";
    case Phase::kUpdate1:
      return "U1";
    case Phase::kUpdate2:
      return "U2";
  }
  return "?";
}

std::vector<int> Node::reads() const {
  std::vector<int> ids = inputs;
  if (predicate >= 0) ids.push_back(predicate);
  return ids;
}

int Graph::AddValue(Value value) {
  value.id = static_cast<int>(values.size());
  values.push_back(std::move(value));
  return values.back().id;
}

int Graph::AddNode(Node node) {
  node.id = static_cast<int>(nodes.size());
  nodes.push_back(std::move(node));
  return nodes.back().id;
}

std::string Graph::ToText(const Mesh* mesh) const {
  std::ostringstream text;
  text << "segment " << name << "\n";
  for (const Value& value : values) {
    if (value.kind == ValueKind::kParam)
      text << "  param " << ValueText(*this, value.id, mesh) << "\n";
  }
  for (const Node& node : nodes) {
    text << "  " << Name(node.phase) << " ";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      text << (i > 0 ? ", " : "") << ValueText(*this, node.outputs[i], mesh);
    }
    text << (node.accumulate ? " += " : " = ") << (node.async ? "async " : "");
    if (node.predicate >= 0) text << "if %" << node.predicate << " > " << node.above << " ";
    text << node.op << node.attrs.ToText() << "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      text << (i > 0 ? ", " : "") << "%" << node.inputs[i];
    }
    text << ")";
    if (!node.region.empty()) text << " @" << node.region;
    if (!node.reason.empty()) text << "  # " << node.reason;
    text << "\n";
  }
  return text.str();
}

}  // namespace trireme
