// Small local graphs, built by hand, for the tests of the passes.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_TEST_GRAPH_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_TEST_GRAPH_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "common/plan/program.h"

namespace trireme {

struct TestGraph {
  explicit TestGraph(std::vector<MeshAxis> axes = {{"data", 2}, {"model", 4}})
      : mesh(*Mesh::Create(std::move(axes))) {}

  // A temporary, unless `kind` says otherwise; `split` lists the axes of each dim.
  int Value(const std::vector<Dim>& dims, std::vector<std::vector<int>> split = {},
            ValueKind kind = ValueKind::kTemp, int tensor = -1) {
    split.resize(dims.size());
    return graph.AddValue({.name = "v" + std::to_string(graph.values.size()),
                           .dims = dims,
                           .kind = kind,
                           .region = "residual",
                           .tensor = tensor,
                           .slot = 0,
                           .sharding = {.dim_axes = std::move(split), .partial = {}}});
  }
  Node& Op(const std::string& op, std::vector<int> inputs, std::vector<int> outputs,
           Phase phase = Phase::kForward) {
    graph.AddNode(
        {.op = op, .inputs = std::move(inputs), .outputs = std::move(outputs), .phase = phase});
    return graph.nodes.back();
  }
  Node& Reshard(const std::string& op, int in, int out, std::vector<int64_t> axes, int64_t dim,
                int64_t to_dim = -1) {
    Node& node = Op(op, {in}, {out});
    node.attrs = {
        {"axes", std::move(axes)}, {"dim", dim}, {"to_dim", to_dim}, {"kind", std::string("sum")}};
    return node;
  }

  Mesh mesh;
  Graph graph{.name = "g"};
};

inline std::string OffsetText(const IndexMap& offset) {
  std::string text = std::to_string(offset.base);
  for (const IndexMap::Term& term : offset.terms) {
    text += "+" + std::to_string(term.stride) + "c" + std::to_string(term.axis);
  }
  return text;
}

// "2x3" of sizes or strides.
inline std::string ListText(const std::vector<int64_t>& list) {
  std::string text;
  for (const int64_t x : list) text += (text.empty() ? "" : "x") + std::to_string(x);
  return text.empty() ? "scalar" : text;
}

// "binding@offset sizes/strides".
inline std::string ViewText(const SegmentCode& code, const View& view) {
  return code.bindings[view.binding] + "@" + OffsetText(view.offset) + " " + ListText(view.sizes) +
         "/" + ListText(view.strides);
}

// One line an instruction: "op(in) -> out".
inline std::string CodeText(const SegmentCode& code) {
  std::string text;
  for (const Instruction& instruction : code.instructions) {
    text += instruction.op + "(";
    for (size_t i = 0; i < instruction.in.size(); ++i) {
      text += (i > 0 ? ", " : "") + ViewText(code, instruction.in[i]);
    }
    text += ") ->";
    for (const View& view : instruction.out) text += " " + ViewText(code, view);
    text += instruction.accumulate ? " +=\n" : "\n";
  }
  return text;
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_TEST_GRAPH_H_
