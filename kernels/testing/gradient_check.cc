// Gradients against central differences: the op and its gradient nodes are written into a graph,
// and a small interpreter runs that graph on reference kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/ops/graph_builder.h"
#include "kernels/ops/infer_util.h"
#include "kernels/ops/kernel.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// Values by id.
using Values = std::map<int, HostTensor>;

// Runs all nodes of `graph`; a view's output is a copy of its input.
void Interpret(const Graph& graph, Values& values) {
  for (const Node& node : graph.nodes) {
    if (FindRule(node.op).is_view) {
      values[node.outputs[0]] = values[node.inputs[0]];
      continue;
    }
    std::vector<Tensor> in, out;
    for (const int id : node.inputs) in.push_back(values[id].view());
    for (const int id : node.outputs) {
      values[id] = HostTensor(graph.value(id).dtype, Sizes(graph.value(id).dims));
      values[id].Fill(std::nan(""));
      out.push_back(values[id].view());
    }
    Stream stream;
    FindKernels(node.op).reference({.stream = stream, .attrs = node.attrs, .in = in, .out = out});
  }
}

// A case with its gradient in one graph.
struct Differentiated {
  Graph graph;
  std::vector<int> inputs;
  std::vector<int> output_grads;  // inputs of the graph; -1 where not weighed
  std::vector<int> input_grads;
};

Differentiated Differentiate(const OpCase& c) {
  Differentiated d;
  GraphBuilder builder(d.graph, Phase::kForward);
  builder.SetRegion("residual");
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    d.inputs.push_back(
        builder.Input("in" + std::to_string(i), c.inputs[i].dims, c.inputs[i].dtype));
  }
  const std::vector<int> outputs = builder.Add(c.op, c.attrs, d.inputs, "out");
  d.output_grads.assign(outputs.size(), -1);
  for (const int o : c.grad_outputs) {
    const Value value = d.graph.value(outputs[o]);
    d.output_grads[o] = builder.Input("d.out" + std::to_string(o), value.dims, value.dtype);
  }
  builder.SetPhase(Phase::kBackward);
  const Node node = d.graph.nodes.back();
  GradArgs args{.builder = builder,
                .node = node,
                .output_grads = d.output_grads,
                .input_grads = std::vector<int>(d.inputs.size(), -1)};
  FindRule(c.op).grad(args);
  d.input_grads = args.input_grads;
  return d;
}

// Sum of outputs times weights.
double Functional(const OpCase& c, const std::vector<HostTensor>& inputs,
                  const std::map<int, HostTensor>& weights) {
  const std::vector<HostTensor> outputs = RunOp(c, inputs);
  double sum = 0;
  for (const auto& [output, weight] : weights) {
    for (int64_t i = 0; i < weight.count(); ++i) sum += weight.Get(i) * outputs[output].Get(i);
  }
  return sum;
}

// Compares up to 40 elements of the gradient of input `i`.
void CompareGradient(const OpCase& c, std::vector<HostTensor> inputs, int i,
                     const std::map<int, HostTensor>& weights, const HostTensor& gradient,
                     double tolerance) {
  const double step = c.float64 ? 1e-5 : 1e-2;
  const int64_t stride = std::max<int64_t>(1, gradient.count() / 40);
  std::vector<double> expected, actual;
  for (int64_t j = 0; j < gradient.count(); j += stride) {
    const double at = inputs[i].Get(j);
    inputs[i].Set(j, at + step);
    const double above = Functional(c, inputs, weights);
    inputs[i].Set(j, at - step);
    const double below = Functional(c, inputs, weights);
    inputs[i].Set(j, at);
    expected.push_back((above - below) / (2 * step));
    actual.push_back(gradient.Get(j));
  }
  double mean = 0;
  for (const double value : expected) {
    mean += std::abs(value) / static_cast<double>(expected.size());
  }
  for (size_t j = 0; j < expected.size(); ++j) {
    const double margin = tolerance * std::max({std::abs(expected[j]), mean, 1e-3});
    if (std::abs(expected[j] - actual[j]) <= margin) continue;
    ADD_FAILURE() << c.op << c.attrs.ToText() << ": gradient of input " << i << " at index "
                  << j * static_cast<size_t>(stride) << " is " << actual[j]
                  << ", central difference " << expected[j];
    return;
  }
}

std::vector<int> FloatInputs(const OpCase& c) {
  std::vector<int> list;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].dtype != DType::kInt32) list.push_back(static_cast<int>(i));
  }
  return list;
}

}  // namespace

void CheckGradient(const OpCase& original, double tolerance) {
  const OpCase c = original.float64 ? InFloat64(original) : original;
  ASSERT_NE(FindRule(c.op).grad, nullptr) << c.op << " has no gradient";
  const Differentiated d = Differentiate(c);
  const std::vector<HostTensor> inputs = MakeInputs(c);
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i) values[d.inputs[i]] = inputs[i];
  std::map<int, HostTensor> weights;
  TestRandom random(c.seed + 2000);
  for (const int o : c.grad_outputs) {
    const Value& value = d.graph.value(d.output_grads[o]);
    HostTensor weight(value.dtype, Sizes(value.dims));
    for (int64_t i = 0; i < weight.count(); ++i) weight.Set(i, random.Normal());
    values[value.id] = weight;
    weights[o] = weight;
  }
  Interpret(d.graph, values);
  for (const int i : c.grad_inputs.empty() ? FloatInputs(c) : c.grad_inputs) {
    ASSERT_GE(d.input_grads[i], 0) << c.op << " gives input " << i << " no gradient";
    const Value& gradient = d.graph.value(d.input_grads[i]);
    ASSERT_TRUE(SameDims(gradient.dims, c.inputs[i].dims))
        << c.op << ": gradient of input " << i << " has dims " << ToText(gradient.dims);
    ASSERT_EQ(gradient.dtype, c.inputs[i].dtype) << c.op << ": gradient of input " << i;
    CompareGradient(c, inputs, i, weights, values[gradient.id], tolerance);
  }
}

}  // namespace trireme
