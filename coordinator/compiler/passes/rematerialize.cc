// Backward slice of the forward, cloned; then equal collectives of phase B are merged.
#include "coordinator/compiler/passes/rematerialize.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/plan/program.h"

namespace trireme {
namespace {

std::string KeyOf(const Node& node) {
  std::string key = node.op + node.attrs.ToText() + std::to_string(node.above);
  for (const int input : node.reads()) key += "," + std::to_string(input);
  return key;
}

bool IsReshard(const Node& node) { return node.op == "slice" || IsCollective(node.op); }

// Forward nodes whose outputs the backward needs, directly or not.
std::vector<bool> NeededForward(const Graph& graph) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.phase != Phase::kBackward) continue;
    for (const int input : node.reads()) wanted[input] = true;
  }
  std::vector<bool> needed(graph.nodes.size(), false);
  for (int i = static_cast<int>(graph.nodes.size()) - 1; i >= 0; --i) {
    const Node& node = graph.nodes[i];
    if (node.phase != Phase::kForward) continue;
    for (const int output : node.outputs) needed[i] = needed[i] || wanted[output];
    if (!needed[i]) continue;
    for (const int input : node.reads()) wanted[input] = true;
  }
  return needed;
}

void Remap(const std::map<int, int>& to, std::vector<int>& ids) {
  for (int& id : ids) {
    const auto it = to.find(id);
    if (it != to.end()) id = it->second;
  }
}

void RemapReads(const std::map<int, int>& to, Node& node) {
  Remap(to, node.inputs);
  if (const auto it = to.find(node.predicate); it != to.end()) node.predicate = it->second;
}

}  // namespace

void Rematerialize(Graph& graph) {
  const std::vector<bool> needed = NeededForward(graph);
  std::map<int, int> clone_of;
  std::vector<Node> kept;
  std::vector<Node> backward;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    (node.phase == Phase::kBackward ? backward : kept).push_back(node);
    if (!needed[i]) continue;
    Node clone = node;
    clone.phase = Phase::kBackward;
    clone.reason = "recomputed (remat: block)" + (node.reason.empty() ? "" : "; " + node.reason);
    RemapReads(clone_of, clone);
    for (int& output : clone.outputs) {
      if (const auto made = clone_of.find(output); made != clone_of.end()) {
        output = made->second;  // several nodes add into it
        continue;
      }
      Value value = graph.value(output);
      const int id = graph.AddValue(std::move(value));
      clone_of[output] = id;
      output = id;
    }
    backward.push_back(std::move(clone));
  }
  // Clones stand before the original backward nodes: order them so.
  std::stable_partition(backward.begin(), backward.end(),
                        [](const Node& node) { return node.reason.rfind("recomputed", 0) == 0; });
  std::map<int, int> same_as;
  std::map<std::string, int> seen;
  graph.nodes.clear();
  for (Node& node : kept) graph.AddNode(std::move(node));
  for (Node& node : backward) {
    RemapReads(clone_of, node);
    RemapReads(same_as, node);
    if (IsReshard(node) && graph.value(node.outputs[0]).kind == ValueKind::kTemp) {
      const auto [it, added] = seen.emplace(KeyOf(node), node.outputs[0]);
      if (!added) {
        same_as[node.outputs[0]] = it->second;
        continue;
      }
    }
    graph.AddNode(std::move(node));
  }
  Remap(same_as, graph.grad_edges_in);
}

}  // namespace trireme
