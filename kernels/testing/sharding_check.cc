// Parts against the whole, by the generic formula of rule.h.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

// Dims that are split together.
using Group = std::vector<std::string>;

// Everything about a case that a split needs.
struct Subject {
  OpCase c;
  Graph graph;
  Node node;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> whole;  // outputs

  const Value& input(size_t i) const { return graph.value(node.inputs[i]); }
  const Value& output(size_t i) const { return graph.value(node.outputs[i]); }
};

Subject MakeSubject(const OpCase& c) {
  Subject subject{.c = c, .inputs = MakeInputs(c)};
  subject.node = Node{.op = c.op, .attrs = c.attrs};
  for (const OpInput& input : c.inputs) {
    subject.node.inputs.push_back(
        subject.graph.AddValue({.name = "in", .dims = input.dims, .dtype = input.dtype}));
  }
  const auto types = InferCase(c);
  CHECK(types.ok()) << types.status().ToString();
  for (const ValueType& type : *types) {
    subject.node.outputs.push_back(
        subject.graph.AddValue({.name = "out", .dims = type.dims, .dtype = type.dtype}));
  }
  subject.whole = RunOp(c, subject.inputs);
  return subject;
}

// All values' dim in `group`, or -1.
int SplitDim(const Value& value, const Group& group) {
  for (size_t d = 0; d < value.dims.size(); ++d) {
    if (std::count(group.begin(), group.end(), value.dims[d].name) > 0) return static_cast<int>(d);
  }
  return -1;
}

bool Divides(const Subject& subject, const Group& group, int64_t parts) {
  for (const Value& value : subject.graph.values) {
    const int d = SplitDim(value, group);
    if (d >= 0 && value.dims[d].size % parts != 0) return false;
  }
  return true;
}

std::vector<Group> Groups(const Subject& subject) {
  std::vector<std::string> skipped = subject.c.skip_dims;
  const OpRule& rule = FindRule(subject.c.op);
  if (rule.whole != nullptr) {
    for (const std::string& name : rule.whole(subject.graph, subject.node)) skipped.push_back(name);
  }
  std::vector<std::string> names;
  for (const Value& value : subject.graph.values) {
    for (const Dim& dim : value.dims) {
      if (std::count(skipped.begin(), skipped.end(), dim.name) > 0) continue;
      if (std::count(names.begin(), names.end(), dim.name) == 0) names.push_back(dim.name);
    }
  }
  const bool both = std::count(names.begin(), names.end(), "heads") > 0 &&
                    std::count(names.begin(), names.end(), "kv_heads") > 0;
  std::vector<Group> groups;
  for (const std::string& name : names) {
    // The partitioner splits kv_heads only along with heads.
    if (!both || name != "kv_heads") groups.push_back({name});
  }
  if (both) groups.push_back({"heads", "kv_heads"});
  return groups;
}

// Runs part `part` of `parts`; returns its outputs.
std::vector<HostTensor> RunPart(const Subject& subject, const Group& group, int64_t part,
                                int64_t parts) {
  std::vector<HostTensor> inputs = subject.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int d = SplitDim(subject.input(i), group);
    if (d < 0) continue;
    const int64_t size = subject.input(i).dims[d].size / parts;
    inputs[i] = inputs[i].Slice(d, part * size, size);
  }
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < subject.whole.size(); ++i) {
    std::vector<int64_t> sizes = subject.whole[i].sizes();
    const int d = SplitDim(subject.output(i), group);
    if (d >= 0) sizes[d] /= parts;
    outputs.emplace_back(subject.whole[i].dtype(), sizes);
  }
  Attrs attrs = subject.c.attrs;
  const OpRule& rule = FindRule(subject.c.op);
  if (rule.index_attrs != nullptr) {
    const size_t num_inputs = subject.node.inputs.size();
    for (const IndexAttr& index : rule.index_attrs(subject.graph, subject.node)) {
      const size_t operand = static_cast<size_t>(index.operand);
      const Value& value =
          operand < num_inputs ? subject.input(operand) : subject.output(operand - num_inputs);
      const int d = FindDim(value.dims, index.dim);
      CHECK(d >= 0) << index.name << " names no dim of operand " << index.operand;
      if (std::count(group.begin(), group.end(), index.dim) == 0) continue;
      attrs.Set(index.name, part * (value.dims[d].size / parts));
    }
  }
  RunInto(subject.c, attrs, inputs, {}, outputs);
  return outputs;
}

void CheckSplit(const Subject& subject, const Group& group, int64_t parts, double tolerance) {
  std::vector<HostTensor> sums;
  for (const HostTensor& output : subject.whole) sums.emplace_back(output.dtype(), output.sizes());
  for (int64_t part = 0; part < parts; ++part) {
    const std::vector<HostTensor> outputs = RunPart(subject, group, part, parts);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int d = SplitDim(subject.output(i), group);
      if (d >= 0) {
        sums[i].Place(d, part * outputs[i].sizes()[d], outputs[i]);
        continue;
      }
      for (int64_t j = 0; j < sums[i].count(); ++j) {
        sums[i].Set(j, sums[i].Get(j) + outputs[i].Get(j));
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::string difference = Difference(subject.whole[i], sums[i], tolerance);
    if (difference.empty()) continue;
    ADD_FAILURE() << subject.c.op << subject.c.attrs.ToText() << ": " << group.back()
                  << (group.size() > 1 ? " with heads" : "") << " split in " << parts << ": output "
                  << i << ", " << difference;
  }
}

}  // namespace

void CheckEverySharding(const OpCase& original, double tolerance) {
  const Subject subject = MakeSubject(original.float64 ? InFloat64(original) : original);
  int splits = 0;
  for (const Group& group : Groups(subject)) {
    for (const int64_t parts : {2, 3}) {
      if (!Divides(subject, group, parts)) continue;
      CheckSplit(subject, group, parts, tolerance);
      ++splits;
    }
  }
  if (splits == 0) ADD_FAILURE() << original.op << ": no dim of the case can be split";
}

}  // namespace trireme
