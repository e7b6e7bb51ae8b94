// A slice of the graph, nothing else: no table says which op belongs where.
#include "coordinator/compiler/passes/split_weight_grad.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace trireme {

void SplitWeightGrad(Graph& graph) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (const int id : graph.grad_edges_in) wanted[id] = true;
  std::vector<Node> nodes = std::move(graph.nodes);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (node->phase != Phase::kBackward) continue;
    const bool needed = std::any_of(node->outputs.begin(), node->outputs.end(),
                                    [&](int output) { return wanted[output]; });
    if (!needed) node->phase = Phase::kWeightGrad;
    for (const int input : node->reads()) wanted[input] = wanted[input] || needed;
  }
  std::stable_partition(nodes.begin(), nodes.end(),
                        [](const Node& node) { return node.phase != Phase::kWeightGrad; });
  graph.nodes.clear();
  for (Node& node : nodes) graph.AddNode(std::move(node));
}

}  // namespace trireme
