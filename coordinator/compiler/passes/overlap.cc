// Finds gathers that feed products and scatters that take products, and rewrites them as rings.
#include "coordinator/compiler/passes/overlap.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "common/plan/program.h"
#include "coordinator/compiler/passes/list_schedule.h"
#include "coordinator/compiler/passes/ring.h"

namespace trireme {
namespace {

// One product that reads a gathered value: which operand, and where the gathered dim is.
struct Consumer {
  int node = -1;
  int operand = 0;
  int dim = 0;
};

struct Gather {
  int node = -1;
  std::vector<Consumer> consumers;
  std::vector<int> views;  // nodes that only rename the gathered value
};

struct Scatter {
  int node = -1;
  std::vector<int> leaves;  // products whose results are added up
  std::vector<int> inner;   // adds and renames between them and the scatter
};

class Overlapper {
 public:
  Overlapper(Graph& graph, const Mesh& mesh, const OverlapOptions& options)
      : graph_(graph), mesh_(mesh), options_(options) {}

  void Run();

 private:
  void Index();
  bool IsRing(const Node& node, std::string_view op) const;
  bool SumsAlikeOnAll(const Node& product, const std::string& name, int axis) const;
  bool FollowGathered(int value, int dim, Gather& gather) const;
  bool FindLeaves(int value, Phase phase, Scatter& scatter) const;
  void FindGathers();
  void FindScatters();
  int64_t ChunksOf(int value, int dim) const;
  std::vector<std::vector<int>> SendAround(const Gather& gather);
  void Multiply(const Consumer& consumer, int axis, int64_t chunks,
                const std::vector<std::vector<int>>& blocks);
  void ScatterProducts(const Scatter& scatter);
  int Axis(int node) const { return static_cast<int>(graph_.nodes[node].attrs.GetInts("axes")[0]); }
  int Dim(int node) const { return static_cast<int>(graph_.nodes[node].attrs.GetInt("dim")); }
  int FindDimOf(int value, const std::string& name) const {
    return trireme::FindDim(graph_.value(value).dims, name);
  }

  Graph& graph_;
  const Mesh& mesh_;
  const OverlapOptions& options_;
  std::vector<std::vector<int>> readers_;  // by value: nodes
  std::vector<int> writer_;                // by value: node, -1 = bound memory, -2 = several
  std::vector<bool> leaves_;               // by value: handed on to another segment
  std::map<int, Gather> gathers_;          // by node
  std::map<int, Scatter> scatters_;        // by node
  std::map<int, int> gather_of_;           // product -> gather that feeds it
  std::vector<bool> replaced_;             // by node
  std::vector<Node> result_;
};

void Overlapper::Index() {
  readers_.assign(graph_.values.size(), {});
  writer_.assign(graph_.values.size(), -1);
  leaves_.assign(graph_.values.size(), false);
  replaced_.assign(graph_.nodes.size(), false);
  for (const Node& node : graph_.nodes) {
    for (const int input : node.inputs) readers_[input].push_back(node.id);
    for (const int output : node.outputs) writer_[output] = writer_[output] == -1 ? node.id : -2;
  }
  for (const auto* list : {&graph_.edges_out, &graph_.grad_edges_in}) {
    for (const int id : *list) leaves_[id] = true;
  }
}

bool Overlapper::IsRing(const Node& node, std::string_view op) const {
  if (node.op != op) return false;
  const std::vector<int64_t>& axes = node.attrs.GetInts("axes");
  return axes.size() == 1 && options_.ring_axes.count(static_cast<int>(axes[0])) > 0 &&
         graph_.value(node.inputs[0]).kind != ValueKind::kParam;
}

// A sum over the gathered dim that every member makes for itself: added up in the order of arrival,
// which differs by member, copies of one value would no longer be equal.
bool Overlapper::SumsAlikeOnAll(const Node& product, const std::string& name, int axis) const {
  const Value& out = graph_.value(product.outputs[0]);
  if (FindDim(out.dims, name) >= 0) return false;
  const bool split = std::any_of(
      out.sharding.dim_axes.begin(), out.sharding.dim_axes.end(),
      [&](const auto& axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
  const bool partial = std::any_of(out.sharding.partial.begin(), out.sharding.partial.end(),
                                   [&](const Partial& partial) { return partial.axis == axis; });
  return !split && !partial;
}

// Collects the products that read `value` or views of it; false when anything else does.
bool Overlapper::FollowGathered(int value, int dim, Gather& gather) const {
  if (leaves_[value] || graph_.value(value).kind != ValueKind::kTemp) return false;
  for (const int reader : readers_[value]) {
    const Node& node = graph_.nodes[reader];
    if (node.op == "rename") {
      gather.views.push_back(reader);
      if (!FollowGathered(node.outputs[0], dim, gather)) return false;
      continue;
    }
    if (node.op != "dot" || node.inputs[0] == node.inputs[1]) return false;
    if (SumsAlikeOnAll(node, graph_.value(value).dims[dim].name, Axis(gather.node))) return false;
    gather.consumers.push_back({reader, node.inputs[0] == value ? 0 : 1, dim});
  }
  return true;
}

void Overlapper::FindGathers() {
  for (const Node& node : graph_.nodes) {
    if (!IsRing(node, kAllGatherOp)) continue;
    Gather gather{.node = node.id};
    const auto dim = static_cast<int>(node.attrs.GetInt("dim"));
    if (!FollowGathered(node.outputs[0], dim, gather) || gather.consumers.empty()) continue;
    const bool taken = std::any_of(gather.consumers.begin(), gather.consumers.end(),
                                   [&](const Consumer& c) { return gather_of_.count(c.node) > 0; });
    if (taken) continue;
    for (const Consumer& consumer : gather.consumers) gather_of_[consumer.node] = node.id;
    replaced_[node.id] = true;
    for (const int view : gather.views) replaced_[view] = true;
    gathers_[node.id] = std::move(gather);
  }
}

// The products whose sum `value` is, through adds and renames that nobody else reads.
bool Overlapper::FindLeaves(int value, Phase phase, Scatter& scatter) const {
  const int writer = writer_[value];
  if (writer < 0 || leaves_[value] || readers_[value].size() != 1) return false;
  const Node& node = graph_.nodes[writer];
  if (node.phase != phase || node.accumulate) return false;
  if (node.op == "dot") {
    scatter.leaves.push_back(writer);
    return gather_of_.count(writer) == 0;
  }
  if (node.op != "add" && node.op != "rename") return false;
  scatter.inner.push_back(writer);
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](int input) { return FindLeaves(input, phase, scatter); });
}

void Overlapper::FindScatters() {
  for (const Node& node : graph_.nodes) {
    if (!IsRing(node, kReduceScatterOp) || node.attrs.GetString("kind") != "sum") continue;
    Scatter scatter{.node = node.id};
    // A view of the partial sum may have been made for a reader that was then given the scattered
    // one.
    const int value = node.inputs[0];
    std::vector<int>& readers = readers_[value];
    std::vector<int> unread;
    std::erase_if(readers, [&](int reader) {
      const Node& view = graph_.nodes[reader];
      if (view.op != "rename" || !readers_[view.outputs[0]].empty()) return false;
      unread.push_back(reader);
      return true;
    });
    if (!FindLeaves(value, node.phase, scatter)) continue;
    std::sort(scatter.leaves.begin(), scatter.leaves.end());
    replaced_[node.id] = true;
    for (const int n : scatter.leaves) replaced_[n] = true;
    for (const int n : scatter.inner) replaced_[n] = true;
    for (const int n : unread) replaced_[n] = true;
    scatters_[node.id] = std::move(scatter);
  }
}

// As many chunks as asked, or as divide one block.
int64_t Overlapper::ChunksOf(int value, int dim) const {
  const std::vector<int64_t> sizes =
      LocalSizes(mesh_, graph_.value(value).dims, graph_.value(value).sharding);
  return std::gcd(sizes[dim], options_.chunks);
}

// blocks[s][c]: chunk c of the block that arrives at step s; step 0 is the own one.
std::vector<std::vector<int>> Overlapper::SendAround(const Gather& gather) {
  const Node node = graph_.nodes[gather.node];
  const int dim = Dim(gather.node);
  const int own = node.inputs[0];
  Ring ring(graph_, mesh_, Axis(gather.node), ChunksOf(own, dim), result_);
  std::vector<std::vector<int>> blocks(ring.size());
  std::vector<int> travelling;
  for (int64_t c = 0; c < ring.chunks(); ++c) {
    blocks[0].push_back(ring.OwnPiece(own, dim, c, node.phase));
    travelling.push_back(ring.chunks() == 1 ? own : ring.Pack(blocks[0][c], node.phase));
  }
  for (int64_t s = 1; s < ring.size(); ++s) {
    for (int64_t c = 0; c < ring.chunks(); ++c) {
      travelling[c] = ring.Pass(travelling[c], node.phase, node.reason);
      blocks[s].push_back(travelling[c]);
    }
  }
  return blocks;
}

// The product block by block, in the order of arrival.
void Overlapper::Multiply(const Consumer& consumer, int axis, int64_t chunks,
                          const std::vector<std::vector<int>>& blocks) {
  const Node node = graph_.nodes[consumer.node];
  Ring ring(graph_, mesh_, axis, chunks, result_);
  const std::string name = graph_.value(node.inputs[consumer.operand]).dims[consumer.dim].name;
  const int other = node.inputs[1 - consumer.operand];
  const int other_dim = FindDimOf(other, name);
  const int out = node.outputs[0];
  const int out_dim = FindDimOf(out, name);
  std::vector<int> pieces;
  std::vector<int64_t> shifts, parts;
  bool first = !node.accumulate;
  for (int64_t s = 0; s < ring.size(); ++s) {
    for (int64_t c = 0; c < chunks; ++c) {
      std::vector<int> inputs(2);
      inputs[consumer.operand] = blocks[s][c];
      inputs[1 - consumer.operand] =
          other_dim < 0 ? other : ring.Piece(other, other_dim, -s, c, node.phase);
      if (out_dim < 0) {
        ring.Repeat(node, inputs, {out}, !first);
        first = false;
        continue;
      }
      pieces.push_back(ring.NewPiece(out, out_dim, ring.size()));
      shifts.push_back(-s);
      parts.push_back(c);
      ring.Repeat(node, inputs, {pieces.back()}, false);
    }
  }
  if (out_dim >= 0) ring.Join(out, out_dim, ring.size(), pieces, shifts, parts, node.phase);
}

// Block s of the sum starts at the member after the one that wants it and gathers the others' parts
// on its way around: the same order of additions as a reduce_scatter.
void Overlapper::ScatterProducts(const Scatter& scatter) {
  const Node node = graph_.nodes[scatter.node];
  const int dim = Dim(scatter.node);
  const int sum = node.inputs[0];
  const int out = node.outputs[0];
  Ring ring(graph_, mesh_, Axis(scatter.node), ChunksOf(out, dim), result_);
  std::vector<int> arrived(ring.chunks(), -1);
  std::vector<int> pieces;
  std::vector<int64_t> parts;
  for (int64_t s = 0; s < ring.size(); ++s) {
    const bool last = s + 1 == ring.size();
    for (int64_t c = 0; c < ring.chunks(); ++c) {
      const int part = last && ring.chunks() == 1 ? out : ring.NewPiece(sum, dim, ring.size());
      bool first = true;
      for (const int leaf : scatter.leaves) {
        const Node product = graph_.nodes[leaf];
        const std::string& name = graph_.value(product.outputs[0]).dims[dim].name;
        std::vector<int> inputs = product.inputs;
        for (int& input : inputs) {
          const int at = FindDimOf(input, name);
          if (at >= 0) input = ring.Piece(input, at, -1 - s, c, product.phase);
        }
        ring.Repeat(product, inputs, {part}, !first);
        first = false;
      }
      if (s > 0) {
        Node add{.op = "accumulate",
                 .phase = node.phase,
                 .region = node.region,
                 .reason = "the sum on its way around the ring"};
        ring.Repeat(add, {arrived[c]}, {part}, true);
      }
      if (!last) {
        arrived[c] = ring.Pass(part, node.phase, node.reason);
      } else if (ring.chunks() > 1) {
        pieces.push_back(ring.NewPiece(out, dim, 1));
        parts.push_back(c);
        Node copy{.op = "copy", .phase = node.phase, .region = node.region};
        ring.Repeat(copy, {part}, {pieces.back()}, false);
      }
    }
  }
  if (pieces.empty()) return;
  ring.Join(out, dim, 1, pieces, std::vector<int64_t>(pieces.size(), 0), parts, node.phase);
}

void Overlapper::Run() {
  Index();
  FindGathers();
  FindScatters();
  std::map<int, std::vector<std::vector<int>>> blocks;  // by gather
  const std::vector<Node> nodes = graph_.nodes;
  for (const Node& node : nodes) {
    if (const auto gather = gathers_.find(node.id); gather != gathers_.end()) {
      blocks[node.id] = SendAround(gather->second);
    } else if (const auto scatter = scatters_.find(node.id); scatter != scatters_.end()) {
      ScatterProducts(scatter->second);
    } else if (const auto fed = gather_of_.find(node.id); fed != gather_of_.end()) {
      for (const Consumer& consumer : gathers_[fed->second].consumers) {
        if (consumer.node != node.id) continue;
        const auto& around = blocks.at(fed->second);
        Multiply(consumer, Axis(fed->second), static_cast<int64_t>(around[0].size()), around);
      }
    } else if (!replaced_[node.id]) {
      result_.push_back(node);
    }
  }
  graph_.nodes.clear();
  for (Node& node : result_) graph_.AddNode(std::move(node));
}

void MarkAsync(Graph& graph, const std::set<int>& axes) {
  for (Node& node : graph.nodes) {
    if (!IsCollective(node.op) || node.phase > Phase::kWeightGrad || node.predicate >= 0) continue;
    const std::vector<int64_t>& over = node.attrs.GetInts("axes");
    node.async = node.async || std::all_of(over.begin(), over.end(), [&](int64_t axis) {
                   return axes.count(static_cast<int>(axis)) > 0;
                 });
  }
}

}  // namespace

void Overlap(Graph& graph, const Mesh& mesh, const OverlapOptions& options) {
  if (!options.ring_axes.empty()) Overlapper(graph, mesh, options).Run();
  MarkAsync(graph, options.async_axes);
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                               [](const Node& node) { return node.async; });
  if (any) ListSchedule(graph);
}

}  // namespace trireme
