// Dim names -> shardings of one node.
#include "coordinator/compiler/partition/node_sharding.h"

#include <algorithm>
#include <map>
#include <set>

namespace trireme {
namespace {

using AxesByDim = std::map<std::string, std::vector<int>>;

// Axes of each dim of the node's operands, whole dims excepted. Errors when two dims want one axis.
StatusOr<AxesByDim> IterationAxes(DimAxes& axes, const Graph& graph, const Node& node,
                                  const std::vector<ValueType>& types) {
  std::vector<std::string> whole;
  if (const auto rule_whole = FindRule(node.op).whole; rule_whole != nullptr) {
    whole = rule_whole(graph, node);
  }
  std::vector<Dim> dims;
  const auto add = [&dims](const std::vector<Dim>& more) {
    for (const Dim& dim : more) {
      if (FindDim(dims, dim.name) < 0) dims.push_back(dim);
    }
  };
  for (const int input : node.inputs) add(graph.value(input).dims);
  for (const ValueType& type : types) add(type.dims);
  std::erase_if(dims, [&whole](const Dim& dim) {
    return std::find(whole.begin(), whole.end(), dim.name) != whole.end();
  });
  ASSIGN_OR_RETURN(const Sharding all,
                   axes.ShardingOf(MappingKind::kCompute, node.region, dims, node.op));
  AxesByDim result;
  for (size_t i = 0; i < dims.size(); ++i) result[dims[i].name] = all.dim_axes[i];
  return result;
}

Sharding ByName(const std::vector<Dim>& dims, const AxesByDim& axes) {
  Sharding sharding = Replicated(static_cast<int>(dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto it = axes.find(dims[i].name);
    if (it != axes.end()) sharding.dim_axes[i] = it->second;
  }
  return sharding;
}

// Adds what is summed over dims the output lacks, less the axes that split its own dims, and
// `passed`.
void AddPartials(const AxesByDim& axes, const std::vector<Partial>& passed, Sharding& sharding) {
  std::set<int> own;
  for (const std::vector<int>& dim : sharding.dim_axes) own.insert(dim.begin(), dim.end());
  std::set<int> summed;
  for (const auto& [name, dim_axes] : axes) {
    for (const int axis : dim_axes) {
      if (own.count(axis) == 0) summed.insert(axis);
    }
  }
  for (const int axis : summed) sharding.partial.push_back({axis, ReduceKind::kSum});
  for (const Partial& partial : passed) {
    if (summed.count(partial.axis) == 0) sharding.partial.push_back(partial);
  }
  std::sort(sharding.partial.begin(), sharding.partial.end());
}

bool OnlySums(const Sharding& sharding) {
  return std::all_of(sharding.partial.begin(), sharding.partial.end(),
                     [](const Partial& p) { return p.kind == ReduceKind::kSum; });
}

// All operands lie alike and partial: the op is done on the parts.
bool PassesJointly(const Graph& graph, const Node& node) {
  const Value& first = graph.value(node.inputs[0]);
  if (first.sharding.partial.empty() || !OnlySums(first.sharding)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int id) {
    return graph.value(id).sharding == first.sharding && graph.value(id).dims == first.dims;
  });
}

NodeSharding ShardJointly(const Graph& graph, const Node& node,
                          const std::vector<ValueType>& types) {
  const Value& first = graph.value(node.inputs[0]);
  AxesByDim axes;
  for (size_t i = 0; i < first.dims.size(); ++i)
    axes[first.dims[i].name] = first.sharding.dim_axes[i];
  NodeSharding result;
  result.inputs.assign(node.inputs.size(), first.sharding);
  for (const ValueType& type : types) {
    result.outputs.push_back(ByName(type.dims, axes));
    AddPartials(axes, first.sharding.partial, result.outputs.back());
  }
  return result;
}

// The one partial operand that a kEach op can take as it is, or -1.
int PassedOperand(const Graph& graph, const Node& node, const AxesByDim& axes) {
  int passed = -1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Sharding& sharding = graph.value(node.inputs[i]).sharding;
    if (sharding.partial.empty()) continue;
    if (passed >= 0 || !OnlySums(sharding)) return -1;
    passed = static_cast<int>(i);
  }
  if (passed < 0) return -1;
  for (const Partial& partial : graph.value(node.inputs[passed]).sharding.partial) {
    for (const auto& [name, dim_axes] : axes) {
      if (std::find(dim_axes.begin(), dim_axes.end(), partial.axis) != dim_axes.end()) return -1;
    }
  }
  return passed;
}

}  // namespace

StatusOr<NodeSharding> ShardNode(DimAxes& axes, const Graph& graph, const Node& node,
                                 const std::vector<ValueType>& types) {
  const Linearity linearity = FindRule(node.op).linearity;
  if (linearity == Linearity::kJoint && !node.inputs.empty() && PassesJointly(graph, node)) {
    return ShardJointly(graph, node, types);
  }
  ASSIGN_OR_RETURN(const AxesByDim by_dim, IterationAxes(axes, graph, node, types));
  const int passed = linearity == Linearity::kEach ? PassedOperand(graph, node, by_dim) : -1;
  NodeSharding result;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    result.inputs.push_back(ByName(graph.value(node.inputs[i]).dims, by_dim));
  }
  std::vector<Partial> partial;
  if (passed >= 0) {
    partial = graph.value(node.inputs[passed]).sharding.partial;
    result.inputs[passed].partial = partial;
  }
  for (const ValueType& type : types) {
    result.outputs.push_back(ByName(type.dims, by_dim));
    AddPartials(by_dim, partial, result.outputs.back());
  }
  for (const auto& [name, dim_axes] : by_dim) {
    for (const int axis : dim_axes) result.dim_of_axis[axis] = name;
  }
  return result;
}

std::vector<int64_t> OwnerAxes(const Mesh& mesh, const Sharding& sharding,
                               const std::vector<int>& stage_axes) {
  std::vector<int64_t> owners;
  for (const int axis : ReplicatedAxes(mesh, sharding)) {
    if (std::find(stage_axes.begin(), stage_axes.end(), axis) == stage_axes.end())
      owners.push_back(axis);
  }
  return owners;
}

std::string ParamEntries(const DimAxes& axes, const Graph& graph, int value) {
  const Value& param = graph.value(value);
  std::string text;
  for (size_t i = 0; i < param.dims.size(); ++i) {
    if (param.sharding.dim_axes[i].empty()) continue;
    text += (text.empty() ? "" : "; ") +
            axes.EntryFor(MappingKind::kParam, param.region, param.dims[i].name);
  }
  return text;
}

std::string ReshardReason(const DimAxes& axes, const Graph& graph, int value,
                          const SumOrigins& origins, const std::string& region,
                          const Sharding& to) {
  const Value& have = graph.value(value);
  if (have.kind == ValueKind::kParam) return "stored as " + ParamEntries(axes, graph, value);
  std::string text;
  for (const Partial& partial : have.sharding.partial) {
    if (std::find(to.partial.begin(), to.partial.end(), partial) != to.partial.end()) continue;
    const auto origin = origins.find(partial.axis);
    text += (text.empty() ? "sum over " : "; sum over ") + axes.mesh().axis(partial.axis).name;
    if (origin != origins.end()) text += ": " + origin->second;
  }
  for (size_t i = 0; i < have.dims.size(); ++i) {
    if (have.sharding.dim_axes[i] == to.dim_axes[i]) continue;
    // What split it is an entry of where it comes from; what splits it, of where it is used.
    const std::string& mapped = to.dim_axes[i].empty() ? have.region : region;
    const std::string entry = axes.EntryFor(MappingKind::kCompute, mapped, have.dims[i].name);
    text += (text.empty() ? "" : "; ") + have.dims[i].name + " is " +
            (to.dim_axes[i].empty() ? "needed whole" : "split again") +
            (entry.empty() ? "" : " (" + entry + ")");
  }
  return text;
}

std::string GradientReason(const DimAxes& axes, const Graph& graph, int tensor,
                           const std::string& policy) {
  const LogicalTensor& logical = graph.tensors[tensor];
  std::string text = "gradient of " + logical.name + " (" + policy;
  for (const Dim& dim : logical.dims) {
    const std::string entry = axes.EntryFor(MappingKind::kOptimizer, logical.region, dim.name);
    if (!entry.empty()) text += "; " + entry;
  }
  return text + ")";
}

}  // namespace trireme
