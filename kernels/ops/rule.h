// What the compiler knows of an op, all of it pure: shapes, which dims must be whole, linearity,
// gradient, cost, and how to rewrite it where a split dim needs a distributed algorithm.
//
// The sharding of a node follows from dim names alone. Every dim of its operands takes the axes
// that the mapping gives for (region, dim); dims named by `whole` take none. An output is a partial
// SUM over the axes of the split dims it does not have, less the axes that split its own dims.
// Example: dW[embed, mlp] = dot(x[batch, position, embed], dy[batch, position, mlp]) with batch
// split over data is partial over data.
#ifndef TRIREME_KERNELS_OPS_RULE_H_
#define TRIREME_KERNELS_OPS_RULE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/ir/graph.h"

namespace trireme {

class GraphBuilder;

// Type of a value: what Infer computes.
struct ValueType {
  std::vector<Dim> dims;
  DType dtype = DType::kFloat32;
};

// How partial sums may pass through an op instead of being resolved before it.
enum class Linearity : uint8_t {
  kNone,   // resolve first
  kEach,   // linear in each operand with the others fixed (dot, mul): one operand may be partial
  kJoint,  // linear in all operands together (add, rename, scale): all may be partial alike
};

// FLOPs and bytes of one execution on one rank.
struct OpCost {
  double flops = 0;
  int64_t bytes = 0;      // read and written, each operand once
  int64_t workspace = 0;  // scratch bytes the kernel asks for
};

// An attribute whose value is the first global index that this rank holds of a dim of an operand.
struct IndexAttr {
  std::string name;  // attribute, for example "vocab_start"
  int operand = 0;   // input index; outputs follow: inputs.size() + output index
  std::string dim;   // dim name of that operand
};

// Gradients arriving at a node: `output_grads[i]` is a value id or -1; fill `input_grads[i]` (-1:
// none needed).
struct GradArgs {
  GraphBuilder& builder;
  const Node& node;
  std::vector<int> output_grads;
  std::vector<int> input_grads;
};

// Rewriting a node whose dim is split: how the partitioner offers the parts.
class ExpandContext {
 public:
  virtual ~ExpandContext() = default;
  // Appends a node whose output i carries the split dims as usual, but is declared partial of
  // kinds[i] over the axes of `dim`. Returns the output ids.
  virtual std::vector<int> AddPartial(const std::string& op, const Attrs& attrs,
                                      const std::vector<int>& inputs, const std::string& dim,
                                      const std::vector<ReduceKind>& kinds) = 0;
  // Appends an ordinary node.
  virtual std::vector<int> Add(const std::string& op, const Attrs& attrs,
                               const std::vector<int>& inputs) = 0;
  // The value with its partial reduction resolved (a collective over the axes it is partial on; the
  // same value when none).
  virtual int Resolve(int value) = 0;
  // A copy of the same memory that is declared partial over nothing (each rank keeps its own).
  virtual int Local(int value) = 0;

  // Ranks that split `dim` in the node's region: 1 when nobody does. They form a ring.
  virtual int64_t RingSize(const std::string& dim) = 0;
  // What the member before this one on the ring of `dim` has in `value`; this rank's goes to the
  // next. Runs beside what follows.
  virtual int Pass(int value, const std::string& dim) = 0;
  // Of a value that is whole along `dim`, the block of the member `shift` places on (mod the
  // ring's size).
  virtual int RingBlock(int value, const std::string& dim, int64_t shift) = 0;

  // Nodes appended from now on belong to `region`.
  virtual void InRegion(const std::string& region) = 0;
  // The value as `region` sees it, dims renamed by pairs {from, to} and moved to where that region
  // wants them. Partial sums stay partial.
  virtual int Enter(int value, const std::string& region,
                    const std::vector<std::pair<std::string, std::string>>& dims) = 0;
  // Appends a node that adds into earlier outputs of its like: one id for each of the rule's
  // accumulating_outputs, in order. Returns all outputs.
  virtual std::vector<int> AddInto(const std::string& op, const Attrs& attrs,
                                   const std::vector<int>& inputs,
                                   const std::vector<int>& into) = 0;
  // The largest of the int32 scalar `value` over the ranks that have different ones, except that
  // ranks which `apart` is split over keep theirs apart.
  virtual int Largest(int value, const std::string& apart) = 0;
  // What is appended from now on runs only where the int32 scalar `value` is more than `above`; -1:
  // always. All ranks that exchange something in between must see the same number.
  virtual void When(int value, int above) = 0;
};

struct OpRule {
  std::string_view name;

  // Types of the outputs. Errors: kInvalidArgument naming dims and sizes.
  StatusOr<std::vector<ValueType>> (*infer)(const Graph& graph, const Node& node) = nullptr;

  // Dims that no axis may split in this op. Null: none.
  std::vector<std::string> (*whole)(const Graph& graph, const Node& node) = nullptr;

  Linearity linearity = Linearity::kNone;
  // The output is the input's memory under other names (rename).
  bool is_view = false;

  // Appends the gradient's nodes. Null: not differentiable.
  void (*grad)(GradArgs& args) = nullptr;

  // From local (per-rank) sizes: dims' padded sizes are the local ones here. Null: bytes only.
  OpCost (*cost)(const Graph& graph, const Node& node) = nullptr;

  // Attributes that name the local part's position. Null: none.
  std::vector<IndexAttr> (*index_attrs)(const Graph& graph, const Node& node) = nullptr;

  // Rewrites the node; its outputs become `outputs`. Null: the node stands as it is.
  std::vector<int> (*expand)(ExpandContext& context, const Graph& graph,
                             const Node& node) = nullptr;

  // Outputs the kernels can add into instead of overwriting.
  std::vector<int> accumulating_outputs = {};
};

// The rule of `op`. CHECK-fails on an unknown name.
const OpRule& FindRule(std::string_view op);
// All rules, in the order of op_list.inc.
const std::vector<const OpRule*>& AllRules();
// A number that changes when the set of ops or their names change; coordinator and worker must
// agree on it.
uint64_t OpTableHash();

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_RULE_H_
