// Alias analysis over nodes in order.
#include "coordinator/compiler/passes/aliases.h"

#include "kernels/ops/rule.h"

namespace trireme {
namespace {

bool IsView(const Node& node) { return node.op == "rename"; }

// Local elements before `dim`, product of the sizes outside it.
int64_t OuterCount(const std::vector<int64_t>& sizes, int dim) {
  int64_t outer = 1;
  for (int i = 0; i < dim; ++i) outer *= sizes[i];
  return outer;
}

// Offset of a slice of the outermost dim that is longer than one, or false when the slice is not
// contiguous.
bool ContiguousSlice(const Graph& graph, const Mesh& mesh, const Node& node, IndexMap* offset) {
  const Value& out = graph.value(node.outputs[0]);
  const int dim = static_cast<int>(node.attrs.GetInt("dim"));
  const std::vector<int64_t> sizes = LocalSizes(mesh, out.dims, out.sharding);
  if (OuterCount(sizes, dim) != 1) return false;
  int64_t stride = 1;  // elements of one shard
  for (size_t i = dim; i < sizes.size(); ++i) stride *= sizes[i];
  const std::vector<int64_t>& axes = node.attrs.GetInts("axes");
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    offset->terms.push_back({static_cast<int32_t>(*it), stride});
    stride *= mesh.axis(static_cast<int>(*it)).size;
  }
  return true;
}

IndexMap Sum(const IndexMap& a, const IndexMap& b) {
  IndexMap sum = a;
  sum.base += b.base;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  return sum;
}

}  // namespace

IndexMap StartOf(const Mesh& mesh, const Value& value, int dim) {
  const std::vector<int64_t> local = LocalSizes(mesh, value.dims, value.sharding);
  IndexMap map;
  int64_t stride = local[dim];
  const std::vector<int>& axes = value.sharding.dim_axes[dim];
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    map.terms.push_back({*it, stride});
    stride *= mesh.axis(*it).size;
  }
  return map;
}

std::vector<Alias> FindAliases(const Graph& graph, const Mesh& mesh) {
  std::vector<Alias> aliases(graph.values.size());
  for (const Value& value : graph.values) aliases[value.id].root = value.id;
  std::vector<int> readers(graph.values.size(), 0);
  std::vector<bool> leaves(graph.values.size(), false);  // handed on to another segment
  for (const int id : graph.edges_out) leaves[id] = true;
  for (const int id : graph.grad_edges_in) leaves[id] = true;
  for (const Node& node : graph.nodes) {
    IndexMap offset;
    const bool shares = IsView(node) || node.in_place ||
                        (node.op == "slice" && ContiguousSlice(graph, mesh, node, &offset));
    if (shares && graph.value(node.outputs[0]).kind == ValueKind::kTemp) {
      const Alias& source = aliases[node.inputs[0]];
      aliases[node.outputs[0]] = {source.root, Sum(source.offset, offset)};
    }
    for (const int input : node.inputs) {
      if (!IsView(node)) ++readers[aliases[input].root];
    }
  }
  // Roots are final for views; now an all_reduce may run in place on a temporary that only it
  // reads.
  for (const Node& node : graph.nodes) {
    if (node.op != kAllReduceOp) continue;
    const Alias source = aliases[node.inputs[0]];
    const Value& root = graph.value(source.root);
    const Value& out = graph.value(node.outputs[0]);
    const bool alone = readers[source.root] == 1 && !leaves[source.root] && !leaves[node.inputs[0]];
    if (root.kind != ValueKind::kTemp || out.kind != ValueKind::kTemp || !alone) continue;
    if (!source.offset.terms.empty() || source.root == node.outputs[0]) continue;
    for (Alias& alias : aliases) {
      if (alias.root == node.outputs[0]) alias.root = source.root;
    }
  }
  return aliases;
}

}  // namespace trireme
