// Layout of values that cross phases, and kernel nodes as instructions.
#include "coordinator/compiler/passes/lower.h"

#include <set>

#include "common/base/check.h"
#include "common/base/math.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

bool IsReshard(const std::string& op) { return op == "slice" || IsCollective(op); }

// The name of the memory an instance supplies for `value`, or "" for a temporary.
std::string BindingOf(const Value& value) {
  const std::string tensor = std::to_string(value.tensor);
  const std::string slot = std::to_string(value.slot);
  switch (value.kind) {
    case ValueKind::kTemp:
      return "";
    case ValueKind::kInput:
      return "input:" + value.name;
    case ValueKind::kParam:
      return "param:" + tensor;
    case ValueKind::kEdgeIn:
      return "edge_in:" + slot;
    case ValueKind::kGradEdgeOut:
      return "grad_edge_out:" + slot;
    case ValueKind::kGrad:
      return "grad:" + tensor;
    case ValueKind::kReducedGrad:
      return "reduced:" + tensor;
    case ValueKind::kState:
      return "state:" + tensor + ":" + slot;
    case ValueKind::kScalars:
      return value.name;
  }
  return "";
}

// Gives each edge its own temporary root: a copy where it would share memory with something else.
void SeparateEdges(Graph& graph, const Mesh& mesh, std::vector<int>& edges, Phase phase) {
  std::set<int> taken;
  for (int& edge : edges) {
    const std::vector<Alias> aliases = FindAliases(graph, mesh);
    const Alias& alias = aliases[edge];
    const bool own = graph.value(alias.root).kind == ValueKind::kTemp &&
                     alias.offset.terms.empty() && taken.insert(alias.root).second;
    if (own) continue;
    Value copy = graph.value(edge);
    copy.kind = ValueKind::kTemp;
    copy.tensor = -1;
    const int id = graph.AddValue(std::move(copy));
    graph.AddNode({.op = "copy",
                   .inputs = {edge},
                   .outputs = {id},
                   .phase = phase,
                   .region = "residual",
                   .reason = "an edge needs memory of its own"});
    edge = id;
  }
}

// Phase in which a root is written first, and whether a later phase reads it.
struct Crossing {
  bool written = false;
  Phase phase = Phase::kForward;
  bool crosses = false;
};

std::map<int, Crossing> FindCrossings(const Graph& graph, const std::vector<Alias>& aliases) {
  std::map<int, Crossing> crossings;
  for (const Node& node : graph.nodes) {
    for (const int input : node.inputs) {
      Crossing& crossing = crossings[aliases[input].root];
      if (crossing.written && crossing.phase != node.phase) crossing.crosses = true;
    }
    if (node.op == "rename") continue;
    for (const int output : node.outputs) {
      Crossing& crossing = crossings[aliases[output].root];
      if (!crossing.written) crossing = {true, node.phase, crossing.crosses};
    }
  }
  return crossings;
}

Instruction KernelInstruction(CodeBuilder& code, const Node& node) {
  const Graph& graph = code.graph();
  Instruction instruction{.op = node.op, .accumulate = node.accumulate, .reason = node.reason};
  for (const auto& [name, value] : node.attrs.entries()) {
    if (name != "owner_axes" && name != "scalar_offset") instruction.attrs.Set(name, value);
  }
  for (const int input : node.inputs) instruction.in.push_back(code.ViewOf(input));
  const int64_t scalar_offset = node.attrs.GetInt("scalar_offset", 0);
  for (const int output : node.outputs) {
    instruction.out.push_back(code.ViewOf(output, output == node.outputs[0] ? scalar_offset : 0));
  }
  if (node.attrs.Has("owner_axes")) {
    IndexMap owner;
    for (const int64_t axis : node.attrs.GetInts("owner_axes")) {
      owner.terms.push_back({static_cast<int32_t>(axis), 1});
    }
    instruction.index_attrs.emplace_back("owner", owner);
  }
  const auto index_attrs = FindRule(node.op).index_attrs;
  if (index_attrs == nullptr) return instruction;
  for (const IndexAttr& attr : index_attrs(graph, node)) {
    const int num_inputs = static_cast<int>(node.inputs.size());
    const Value& value =
        graph.value(attr.operand < num_inputs ? node.inputs[attr.operand]
                                              : node.outputs[attr.operand - num_inputs]);
    const int dim = FindDim(value.dims, attr.dim);
    CHECK(dim >= 0) << node.op << " has no dim " << attr.dim;
    instruction.index_attrs.emplace_back(attr.name, StartOf(code.mesh(), value, dim));
  }
  return instruction;
}

}  // namespace

SegmentLayout LayOutSegment(Graph& graph, const Mesh& mesh) {
  SeparateEdges(graph, mesh, graph.edges_out, Phase::kForward);
  SeparateEdges(graph, mesh, graph.grad_edges_in, Phase::kBackward);
  SegmentLayout layout;
  layout.aliases = FindAliases(graph, mesh);
  for (const Value& value : graph.values) {
    const std::string binding = BindingOf(value);
    if (!binding.empty()) layout.binding[layout.aliases[value.id].root] = binding;
  }
  for (size_t i = 0; i < graph.edges_out.size(); ++i) {
    layout.binding[layout.aliases[graph.edges_out[i]].root] = "edge_out:" + std::to_string(i);
  }
  for (size_t i = 0; i < graph.grad_edges_in.size(); ++i) {
    layout.binding[layout.aliases[graph.grad_edges_in[i]].root] =
        "grad_edge_in:" + std::to_string(i);
  }
  for (const auto& [root, crossing] : FindCrossings(graph, layout.aliases)) {
    if (!crossing.crosses || layout.binding.count(root) > 0) continue;
    const Value& value = graph.value(root);
    const int64_t bytes = RoundUp(
        Product(LocalSizes(mesh, value.dims, value.sharding)) * SizeOf(value.dtype), kAlignment);
    const bool gathered = crossing.phase == Phase::kGather;
    int64_t& total = gathered ? layout.gathered_bytes : layout.saved_bytes;
    (gathered ? layout.gathered : layout.saved)[root] = total;
    total += bytes;
  }
  return layout;
}

SegmentCode LowerPhase(const Graph& graph, const Mesh& mesh, const SegmentLayout& layout,
                       Phase phase, std::vector<Group>* groups, int64_t* scratch_bytes) {
  CodeBuilder code(graph, mesh, layout);
  code.groups() = *groups;
  for (const Node& node : graph.nodes) {
    if (node.phase != phase) continue;
    if (IsReshard(node.op)) {
      LowerReshard(code, node);
    } else if (!FindRule(node.op).is_view) {
      code.Append(KernelInstruction(code, node));
    }
  }
  *groups = code.groups();
  return code.Finish(graph.name + "." + std::string(Name(phase)), phase, scratch_bytes);
}

}  // namespace trireme
