// Peephole over producer -> accumulate.
#include "coordinator/compiler/passes/fuse_accumulate.h"

#include <algorithm>
#include <vector>

#include "common/plan/program.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

bool IsKernel(const Node& node) {
  return node.op != "slice" && !IsCollective(node.op) && !FindRule(node.op).is_view;
}

}  // namespace

void FuseAccumulate(Graph& graph) {
  std::vector<int> readers(graph.values.size(), 0);
  std::vector<int> accumulate_of(graph.values.size(),
                                 -1);  // index of the accumulate node reading a value
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int input : graph.nodes[i].inputs) ++readers[input];
    if (graph.nodes[i].op == "accumulate")
      accumulate_of[graph.nodes[i].inputs[0]] = static_cast<int>(i);
  }
  for (const int id : graph.grad_edges_in) ++readers[id];
  std::vector<bool> dropped(graph.nodes.size(), false);
  for (Node& node : graph.nodes) {
    if (!IsKernel(node) || node.op == "accumulate" || node.phase == Phase::kForward) continue;
    const std::vector<int>& outputs = FindRule(node.op).accumulating_outputs;
    const bool all =
        !outputs.empty() && std::all_of(outputs.begin(), outputs.end(), [&](int index) {
          if (index >= static_cast<int>(node.outputs.size())) return false;  // not made here
          const int value = node.outputs[index];
          return accumulate_of[value] >= 0 && readers[value] == 1;
        });
    if (!all) continue;
    for (const int index : outputs) {
      const int at = accumulate_of[node.outputs[index]];
      node.outputs[index] = graph.nodes[at].outputs[0];
      dropped[at] = true;
    }
    node.accumulate = true;
  }
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes.clear();
  for (Node& node : kept) graph.AddNode(std::move(node));
}

}  // namespace trireme
