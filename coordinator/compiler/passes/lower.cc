// Layout of values that cross phases, and kernel nodes as instructions.
#include "coordinator/compiler/passes/lower.h"

#include <algorithm>
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
    for (const int input : node.reads()) {
      Crossing& crossing = crossings[aliases[input].root];
      if (crossing.written && crossing.phase != node.phase) crossing.crosses = true;
    }
    if (IsViewOp(node.op)) continue;
    for (const int output : node.outputs) {
      Crossing& crossing = crossings[aliases[output].root];
      if (!crossing.written) crossing = {true, node.phase, crossing.crosses};
    }
  }
  return crossings;
}

// `graph` with the sizes of one rank, for costs.
Graph LocalGraph(const Graph& graph, const Mesh& mesh) {
  Graph local;
  local.values = graph.values;
  for (Value& value : local.values) {
    const std::vector<int64_t> sizes = LocalSizes(mesh, value.dims, value.sharding);
    for (size_t i = 0; i < sizes.size(); ++i) value.dims[i] = {value.dims[i].name, sizes[i]};
  }
  return local;
}

// Gathers of stored parameters in F and B: they depend on nothing the segment computes.
bool CanRunAhead(const Graph& graph, const Node& node) {
  return node.op == kAllGatherOp &&
         (node.phase == Phase::kForward || node.phase == Phase::kBackward) &&
         graph.value(node.inputs[0]).kind == ValueKind::kParam;
}

// Memory of the gathers that run ahead, F and B apart: they are never in flight together.
void LayOutPrefetch(const Graph& graph, const Mesh& mesh, const std::map<int, Crossing>& crossings,
                    SegmentLayout& layout) {
  int64_t used[2] = {};
  for (const Node& node : graph.nodes) {
    const Value& out = graph.value(node.outputs[0]);
    const auto crossing = crossings.find(layout.aliases[out.id].root);
    if (!CanRunAhead(graph, node) || crossing == crossings.end() || crossing->second.crosses) {
      continue;
    }
    const std::vector<int64_t> sizes = LocalSizes(mesh, out.dims, out.sharding);
    int64_t outer = 1;
    for (int64_t d = 0; d < node.attrs.GetInt("dim"); ++d) outer *= sizes[d];
    int64_t& at = used[node.phase == Phase::kBackward];
    layout.prefetched[node.id] = at;
    if (outer == 1) layout.prefetched_root[layout.aliases[out.id].root] = at;
    at += RoundUp(Product(sizes) * SizeOf(out.dtype), kAlignment);
  }
  layout.prefetch_bytes = std::max(used[0], used[1]);
}

Instruction KernelInstruction(CodeBuilder& code, const Graph& local, const Node& node) {
  const Graph& graph = code.graph();
  Instruction instruction{.op = node.op, .accumulate = node.accumulate, .reason = node.reason};
  if (const auto cost = FindRule(node.op).cost; cost != nullptr) {
    instruction.flops = cost(local, node).flops;
  }
  for (const auto& [name, value] : node.attrs.entries()) {
    if (name != "owner_axes" && name != "own_axes" && name != "scalar_offset") {
      instruction.attrs.Set(name, value);
    }
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
  if (node.attrs.Has("own_axes")) {  // this rank's place in the group of these axes
    IndexMap own;
    int64_t stride = 1;
    const std::vector<int64_t>& axes = node.attrs.GetInts("own_axes");
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      own.terms.push_back({static_cast<int32_t>(*axis), stride});
      stride *= code.mesh().axis(static_cast<int>(*axis)).size;
    }
    instruction.index_attrs.emplace_back("own", own);
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

SegmentLayout LayOutSegment(Graph& graph, const Mesh& mesh, bool prefetch) {
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
  const std::map<int, Crossing> crossings = FindCrossings(graph, layout.aliases);
  if (prefetch) LayOutPrefetch(graph, mesh, crossings, layout);
  for (const auto& [root, crossing] : crossings) {
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
                       Phase phase, CodePart part, std::vector<Group>* groups,
                       int64_t* scratch_bytes) {
  CodeBuilder code(graph, mesh, layout);
  code.groups() = *groups;
  const Graph local = LocalGraph(graph, mesh);
  for (const Node& node : graph.nodes) {
    if (node.phase != phase) continue;
    code.When(node.predicate, node.above);
    if (layout.prefetched.count(node.id) > 0) {
      LowerPrefetchedGather(code, node, part);
    } else if (part == CodePart::kGathers) {
      continue;
    } else if (IsReshard(node.op)) {
      LowerReshard(code, node);
    } else if (!IsViewOp(node.op) && !FindRule(node.op).is_view) {
      code.Append(KernelInstruction(code, local, node));
    }
  }
  *groups = code.groups();
  const std::string suffix = part == CodePart::kGathers ? ".gather" : "";
  return code.Finish(graph.name + "." + std::string(Name(phase)) + suffix, phase, scratch_bytes);
}

}  // namespace trireme
