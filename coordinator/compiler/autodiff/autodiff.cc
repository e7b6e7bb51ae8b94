// Walks the forward nodes backwards, asks each op's rule for its gradient, and sums where a value
// has several uses.
#include "coordinator/compiler/autodiff/autodiff.h"

#include <string>
#include <vector>

#include "kernels/ops/graph_builder.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

class Differentiator {
 public:
  explicit Differentiator(Graph& graph)
      : graph_(graph), builder_(graph, Phase::kBackward), grads_(graph.values.size()) {}

  Status Run(double loss_seed);

 private:
  void MarkNeeded();
  void Seed(double loss_seed);
  // The sum of the gradients that arrived at `value`, or -1.
  int Total(int value);
  Status Visit(const Node& node);

  Graph& graph_;
  GraphBuilder builder_;
  std::vector<bool> needed_;             // by forward value: a parameter or edge is above it
  std::vector<std::vector<int>> grads_;  // by forward value
};

void Differentiator::MarkNeeded() {
  needed_.assign(graph_.values.size(), false);
  for (const Value& value : graph_.values) {
    needed_[value.id] = value.kind == ValueKind::kParam || value.kind == ValueKind::kEdgeIn;
  }
  for (const Node& node : graph_.nodes) {
    bool any = false;
    for (const int input : node.inputs) any = any || needed_[input];
    for (const int output : node.outputs) needed_[output] = any;
  }
}

void Differentiator::Seed(double loss_seed) {
  const std::vector<int> edges = graph_.edges_out;
  for (size_t i = 0; i < edges.size(); ++i) {
    Value grad = graph_.value(edges[i]);
    grad.name = "d_" + grad.name;
    grad.kind = ValueKind::kGradEdgeOut;
    grad.region = "residual";
    grad.slot = static_cast<int>(i);
    graph_.grad_edges_out.push_back(graph_.AddValue(std::move(grad)));
    grads_[edges[i]].push_back(graph_.grad_edges_out.back());
  }
  if (graph_.loss < 0) return;
  builder_.SetRegion(graph_.value(graph_.loss).region);
  grads_[graph_.loss].push_back(builder_.Add1(
      "fill", {{"value", loss_seed}, {"dtype", std::string("float64")}}, {}, "d_loss"));
}

int Differentiator::Total(int value) {
  const std::vector<int>& parts = grads_[value];
  if (parts.empty()) return -1;
  int total = parts[0];
  builder_.SetRegion(graph_.value(parts[0]).region);
  for (size_t i = 1; i < parts.size(); ++i) {
    total = builder_.Add1("add", {}, {total, parts[i]}, "d_" + graph_.value(value).name);
  }
  grads_[value] = {total};
  return total;
}

Status Differentiator::Visit(const Node& node) {
  GradArgs args{builder_, node, {}, std::vector<int>(node.inputs.size(), -1)};
  bool any_grad = false;
  bool any_needed = false;
  for (const int output : node.outputs) {
    args.output_grads.push_back(needed_[output] ? Total(output) : -1);
    any_grad = any_grad || args.output_grads.back() >= 0;
  }
  for (const int input : node.inputs) any_needed = any_needed || needed_[input];
  if (!any_grad || !any_needed) return absl::OkStatus();
  const OpRule& rule = FindRule(node.op);
  if (rule.grad == nullptr) return Unimplemented("op " + node.op + " has no gradient");
  builder_.SetRegion(node.region);
  rule.grad(args);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (args.input_grads[i] >= 0 && needed_[node.inputs[i]]) {
      grads_[node.inputs[i]].push_back(args.input_grads[i]);
    }
  }
  return absl::OkStatus();
}

// Drops backward nodes whose outputs nobody uses.
void DropDeadNodes(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  const auto mark = [&used](const std::vector<int>& ids) {
    for (const int id : ids) {
      if (id >= 0) used[id] = true;
    }
  };
  mark(graph.edges_out);
  mark(graph.grad_edges_in);
  mark(graph.tensor_grads);
  std::vector<Node> kept;
  for (auto it = graph.nodes.rbegin(); it != graph.nodes.rend(); ++it) {
    bool alive = it->phase == Phase::kForward;
    for (const int output : it->outputs) alive = alive || used[output];
    if (!alive) continue;
    mark(it->inputs);
    kept.push_back(std::move(*it));
  }
  graph.nodes.clear();
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) graph.AddNode(std::move(*it));
}

Status Differentiator::Run(double loss_seed) {
  MarkNeeded();
  Seed(loss_seed);
  const std::vector<Node> forward = [this] {
    std::vector<Node> nodes;
    for (const Node& node : graph_.nodes) {
      if (node.phase == Phase::kForward) nodes.push_back(node);
    }
    return nodes;
  }();
  for (auto it = forward.rbegin(); it != forward.rend(); ++it) RETURN_IF_ERROR(Visit(*it));
  graph_.tensor_grads.assign(graph_.tensors.size(), -1);
  const size_t num_forward_values = grads_.size();
  for (size_t id = 0; id < num_forward_values; ++id) {
    if (graph_.value(static_cast<int>(id)).kind == ValueKind::kParam) {
      const int total = Total(static_cast<int>(id));
      graph_.tensor_grads[graph_.value(static_cast<int>(id)).tensor] = total;
    }
  }
  for (const int edge : graph_.edges_in) graph_.grad_edges_in.push_back(Total(edge));
  DropDeadNodes(graph_);
  return absl::OkStatus();
}

}  // namespace

Status AddBackward(Graph& graph, double loss_seed) { return Differentiator(graph).Run(loss_seed); }

}  // namespace trireme
