// Alias analysis over nodes in order.
#include "coordinator/compiler/passes/aliases.h"

#include "common/base/math.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

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
  *offset = SliceOffset(mesh, node, stride);
  return true;
}

IndexMap Sum(const IndexMap& a, const IndexMap& b) {
  IndexMap sum = a;
  sum.base += b.base;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  return sum;
}

// Where part ((coordinate + shift) mod n) * chunks + chunk of `dim` of a value begins, and its
// strides there (empty where the part is dense).
Alias PartOf(const Graph& graph, const Mesh& mesh, int whole, const Alias& base, const Node& node,
             int64_t shift, int64_t chunk) {
  const Value& value = graph.value(whole);
  const std::vector<int64_t> sizes = LocalSizes(mesh, value.dims, value.sharding);
  const auto dim = static_cast<size_t>(node.attrs.GetInt("dim"));
  const auto axis = static_cast<int32_t>(node.attrs.GetInt("axis"));
  const int64_t n = axis < 0 ? 1 : mesh.axis(axis).size;
  const int64_t chunks = node.attrs.GetInt("chunks");
  Alias part = base;
  const std::vector<int64_t> strides = base.strides.empty() ? DenseStrides(sizes) : base.strides;
  const int64_t step = sizes[dim] / (n * chunks) * strides[dim];
  part.offset.base += chunk * step;
  if (axis >= 0) {
    part.offset.terms.push_back(
        {axis, step * chunks, static_cast<int32_t>((shift % n + n) % n), static_cast<int32_t>(n)});
  }
  const bool dense = base.strides.empty() && OuterCount(sizes, static_cast<int>(dim)) == 1;
  part.strides = dense ? std::vector<int64_t>() : strides;
  return part;
}

}  // namespace

bool IsViewOp(const std::string& op) { return op == "rename" || op == "piece" || op == "join"; }

IndexMap SliceOffset(const Mesh& mesh, const Node& node, int64_t shard) {
  IndexMap offset;
  int64_t stride = shard;
  const std::vector<int64_t>& axes = node.attrs.GetInts("axes");
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    const auto n = static_cast<int32_t>(mesh.axis(static_cast<int>(*it)).size);
    IndexMap::Term term{static_cast<int32_t>(*it), stride};
    if (const int64_t shift = node.attrs.GetInt("shift", 0); shift != 0) {
      term.shift = static_cast<int32_t>((shift % n + n) % n);
      term.modulus = n;
    }
    offset.terms.push_back(term);
    stride *= n;
  }
  return offset;
}

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
    if (node.op != "join") continue;
    const std::vector<int64_t>& shifts = node.attrs.GetInts("shifts");
    const std::vector<int64_t>& parts = node.attrs.GetInts("parts");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      aliases[node.inputs[i]] = PartOf(graph, mesh, node.outputs[0], {.root = node.outputs[0]},
                                       node, shifts[i], parts[i]);
    }
  }
  for (const Node& node : graph.nodes) {
    IndexMap offset;
    const bool shares = node.op == "rename" || node.in_place ||
                        (node.op == "slice" && aliases[node.inputs[0]].strides.empty() &&
                         ContiguousSlice(graph, mesh, node, &offset));
    if (shares && graph.value(node.outputs[0]).kind == ValueKind::kTemp) {
      const Alias& source = aliases[node.inputs[0]];
      aliases[node.outputs[0]] = {source.root, Sum(source.offset, offset), source.strides};
    }
    if (node.op == "piece") {
      aliases[node.outputs[0]] = PartOf(graph, mesh, node.inputs[0], aliases[node.inputs[0]], node,
                                        node.attrs.GetInt("shift"), node.attrs.GetInt("chunk"));
    }
    for (const int input : node.inputs) {
      if (!IsViewOp(node.op)) ++readers[aliases[input].root];
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
