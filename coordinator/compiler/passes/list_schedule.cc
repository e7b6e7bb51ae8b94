// Greedy, by original order: a collective that may start; else a node that waits for nothing in
// flight, first those that a later collective needs; else the first that can run, which ends what
// it waits for. So gradients of weights fill the time in which others travel.
#include "coordinator/compiler/passes/list_schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "coordinator/compiler/passes/aliases.h"

namespace trireme {
namespace {

constexpr Phase kOrder[] = {Phase::kInit,       Phase::kGather,  Phase::kForward, Phase::kBackward,
                            Phase::kWeightGrad, Phase::kUpdate1, Phase::kUpdate2};

// Values that share memory have one number.
class Memory {
 public:
  explicit Memory(const Graph& graph) : parent_(graph.values.size()) {
    for (size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<int>(i);
    for (const Node& node : graph.nodes) {
      if (node.op == "join") {
        for (const int input : node.inputs) Unite(input, node.outputs[0]);
      } else if (IsViewOp(node.op) || node.in_place || node.op == "slice" ||
                 node.op == "all_reduce") {
        Unite(node.inputs[0], node.outputs[0]);
      }
    }
  }
  int Of(int value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }

 private:
  void Unite(int a, int b) { parent_[Of(a)] = Of(b); }
  std::vector<int> parent_;
};

// For each node the earlier ones it must follow: through values, or through shared memory that one
// of them writes. Pieces of one value that different nodes write do not order those.
std::vector<std::vector<int>> FindDependencies(const Graph& graph, const std::vector<Node>& nodes,
                                               Memory& memory) {
  std::vector<std::vector<int>> needs(nodes.size());
  struct Users {
    std::vector<int> readers;
    std::vector<int> writers;
  };
  std::map<int, Users> by_value;
  std::map<int, Users> by_memory;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    const int at = static_cast<int>(i);
    const auto after = [&](const std::vector<int>& earlier) {
      needs[i].insert(needs[i].end(), earlier.begin(), earlier.end());
    };
    for (const int input : node.reads()) {
      after(by_value[input].writers);
      if (!IsViewOp(node.op)) after(by_memory[memory.Of(input)].writers);
    }
    for (const int output : node.outputs) {
      after(by_value[output].writers);
      after(by_value[output].readers);
      if (!IsViewOp(node.op)) after(by_memory[memory.Of(output)].readers);
    }
    for (const int input : node.reads()) {
      by_value[input].readers.push_back(at);
      if (!IsViewOp(node.op)) by_memory[memory.Of(input)].readers.push_back(at);
    }
    for (const int output : node.outputs) {
      by_value[output].writers.push_back(at);
      if (!IsViewOp(node.op)) by_memory[memory.Of(output)].writers.push_back(at);
    }
  }
  for (size_t i = 0; i < needs.size(); ++i) {
    std::vector<int>& list = needs[i];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase(list, static_cast<int>(i));
  }
  return needs;
}

// Whether a collective that runs beside others comes of a node.
std::vector<bool> FindLeading(const std::vector<Node>& nodes,
                              const std::vector<std::vector<int>>& needs) {
  std::vector<bool> leads(nodes.size(), false);
  for (size_t i = nodes.size(); i-- > 0;) {
    leads[i] = leads[i] || nodes[i].async;
    for (const int d : needs[i]) leads[d] = leads[d] || leads[i];
  }
  return leads;
}

std::vector<Node> Schedule(const Graph& graph, std::vector<Node> nodes, Memory& memory) {
  const std::vector<std::vector<int>> needs = FindDependencies(graph, nodes, memory);
  const std::vector<bool> leads = FindLeading(nodes, needs);
  const size_t n = nodes.size();
  std::vector<bool> done(n, false);
  std::vector<int> flight_of(n, 0);  // the youngest collective in flight that a node waits for
  int started = 0;
  int finished = 0;
  std::vector<Node> result;
  const auto ready = [&](size_t i) {
    return std::all_of(needs[i].begin(), needs[i].end(), [&](int d) { return done[d]; });
  };
  // Views run nothing, so what they wait for is what their readers wait for.
  const auto waits_for = [&](size_t i) {
    int youngest = 0;
    for (const int d : needs[i]) youngest = std::max(youngest, flight_of[d]);
    return youngest;
  };
  while (result.size() < n) {
    int collective = -1;
    int leading = -1;
    int free = -1;
    int any = -1;
    for (size_t i = 0; i < n && collective < 0; ++i) {
      if (done[i] || !ready(i)) continue;
      const int at = static_cast<int>(i);
      if (any < 0) any = at;
      if (nodes[i].async) collective = at;
      if (!IsViewOp(nodes[i].op) && waits_for(i) > finished) continue;
      if (free < 0) free = at;
      if (leading < 0 && leads[i]) leading = at;
    }
    const int next = collective >= 0 ? collective : leading >= 0 ? leading : free >= 0 ? free : any;
    const int waited = waits_for(next);
    if (nodes[next].async) {
      flight_of[next] = ++started;
    } else if (IsViewOp(nodes[next].op)) {
      flight_of[next] = waited;
    } else {
      finished = std::max(finished, waited);
    }
    done[next] = true;
    result.push_back(std::move(nodes[next]));
  }
  return result;
}

}  // namespace

void ListSchedule(Graph& graph) {
  Memory memory(graph);
  std::vector<Node> ordered;
  for (const Phase phase : kOrder) {
    std::vector<Node> nodes;
    for (const Node& node : graph.nodes) {
      if (node.phase == phase) nodes.push_back(node);
    }
    for (Node& node : Schedule(graph, std::move(nodes), memory)) ordered.push_back(std::move(node));
  }
  graph.nodes.clear();
  for (Node& node : ordered) graph.AddNode(std::move(node));
}

}  // namespace trireme
