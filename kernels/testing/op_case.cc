// Building and running a case.
#include "kernels/testing/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "kernels/ops/kernel.h"
#include "kernels/testing/simt_kernels.h"

namespace trireme {
namespace {

// The case's node in a graph of its inputs; outputs are not yet there.
Node BuildNode(const OpCase& c, Graph& graph) {
  Node node{.op = c.op, .attrs = c.attrs};
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    node.inputs.push_back(graph.AddValue({.name = "in" + std::to_string(i),
                                          .dims = c.inputs[i].dims,
                                          .dtype = c.inputs[i].dtype,
                                          .kind = ValueKind::kInput}));
  }
  return node;
}

// Scratch bytes that the rule declares for the whole case.
int64_t WorkspaceBytes(const OpCase& c) {
  const OpRule& rule = FindRule(c.op);
  if (rule.cost == nullptr) return 0;
  Graph graph;
  Node node = BuildNode(c, graph);
  const auto types = rule.infer(graph, node);
  CHECK(types.ok()) << types.status().ToString();
  for (const ValueType& type : *types) {
    node.outputs.push_back(graph.AddValue({.name = "out", .dims = type.dims, .dtype = type.dtype}));
  }
  return rule.cost(graph, node).workspace;
}

double Element(const OpInput& input, int64_t i, TestRandom& random) {
  switch (input.data) {
    case DataKind::kNormal:
      return random.Normal();
    case DataKind::kPositive:
      return 0.5 + random.Uniform();
    case DataKind::kIds:
      return static_cast<double>(random.Below(input.bound));
    case DataKind::kGiven:
      return input.values[i];
  }
  return 0;
}

}  // namespace

OpInput Normal(std::vector<Dim> dims, DType dtype) {
  return {.dims = std::move(dims), .dtype = dtype, .data = DataKind::kNormal};
}

OpInput Positive(std::vector<Dim> dims, DType dtype) {
  return {.dims = std::move(dims), .dtype = dtype, .data = DataKind::kPositive};
}

OpInput Ids(std::vector<Dim> dims, int64_t bound) {
  return {.dims = std::move(dims), .dtype = DType::kInt32, .data = DataKind::kIds, .bound = bound};
}

OpInput Given(std::vector<Dim> dims, DType dtype, std::vector<double> values) {
  CHECK_EQ(Product(Sizes(dims)), static_cast<int64_t>(values.size()));
  return {.dims = std::move(dims),
          .dtype = dtype,
          .data = DataKind::kGiven,
          .values = std::move(values)};
}

StatusOr<std::vector<ValueType>> InferCase(const OpCase& c) {
  Graph graph;
  const Node node = BuildNode(c, graph);
  return FindRule(c.op).infer(graph, node);
}

void ExpectInferError(const OpCase& c, const std::string& part) {
  const auto types = InferCase(c);
  if (types.ok()) {
    ADD_FAILURE() << c.op << ": Infer accepts what it should refuse with: " << part;
    return;
  }
  EXPECT_EQ(types.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(ToStd(types.status().message()));
  EXPECT_NE(message.find(part), std::string::npos) << message << "\ndoes not contain: " << part;
}

std::vector<HostTensor> MakeInputs(const OpCase& c) {
  TestRandom random(c.seed);
  std::vector<HostTensor> inputs;
  for (const OpInput& input : c.inputs) {
    HostTensor tensor(input.dtype, Sizes(input.dims));
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.Set(i, Element(input, i, random));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

OpCase InFloat64(OpCase c) {
  for (OpInput& input : c.inputs) {
    if (input.dtype == DType::kFloat32) input.dtype = DType::kFloat64;
  }
  return c;
}

void RunInto(const OpCase& c, const Attrs& attrs, const std::vector<HostTensor>& inputs,
             const RunOptions& options, std::vector<HostTensor>& outputs) {
  std::vector<Tensor> in, out;
  for (const auto& [output, input] : c.in_place) outputs[output] = inputs[input];
  for (const HostTensor& input : inputs) in.push_back(input.view());
  for (const HostTensor& output : outputs) out.push_back(output.view());
  for (const auto& [output, input] : c.in_place) in[input] = out[output];
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      std::aligned_alloc(64, RoundUp(WorkspaceBytes(c) + 1, 64)), &std::free);
  Stream stream{.num_threads = options.num_threads};
  const OpKernels& kernels = FindKernels(c.op);
  const Kernel kernel = options.simt  ? FindSimtKernel(c.op)
                        : options.cpu ? kernels.cpu
                                      : kernels.reference;
  CHECK(kernel != nullptr) << c.op << " has no kernel";
  kernel({.stream = stream,
          .attrs = attrs,
          .in = in,
          .out = out,
          .accumulate = options.accumulate,
          .workspace = workspace.get()});
}

std::vector<HostTensor> RunOp(const OpCase& c, const std::vector<HostTensor>& inputs,
                              const RunOptions& options) {
  const auto types = InferCase(c);
  CHECK(types.ok()) << types.status().ToString();
  const std::vector<int>& adding = FindRule(c.op).accumulating_outputs;
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < types->size(); ++i) {
    HostTensor output((*types)[i].dtype, Sizes((*types)[i].dims));
    const bool adds = std::count(adding.begin(), adding.end(), static_cast<int>(i)) > 0;
    if (output.dtype() == DType::kInt32 || output.dtype() == DType::kInt8) {
      output.Fill(-123);
    } else if (!adds || !options.accumulate) {
      output.Fill(std::numeric_limits<double>::quiet_NaN());
    }
    outputs.push_back(std::move(output));
  }
  RunInto(c, c.attrs, inputs, options, outputs);
  return outputs;
}

}  // namespace trireme
