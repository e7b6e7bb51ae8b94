// The graph of one segment (a part of the model that is compiled once and used many times): values
// with named dims, and nodes, each one op. Nodes stand in execution order. The same structure holds
// the forward graph that a model builder writes, the one with its backward, and the graph of one
// rank after partitioning, where values carry shardings and collectives are nodes.
#ifndef TRIREME_COMMON_IR_GRAPH_H_
#define TRIREME_COMMON_IR_GRAPH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/attrs.h"
#include "common/sharding/sharding.h"
#include "common/tensor/dim.h"
#include "common/tensor/dtype.h"

namespace trireme {

// F and B run once a microbatch; the others once a step (kInit once a job).
enum class Phase : uint8_t { kForward, kBackward, kWeightGrad, kInit, kGather, kUpdate1, kUpdate2 };
std::string_view Name(Phase phase);  // "F", "B", "W", "INIT", "G", "U1", "U2"

// What a value is to the code that holds it. Everything but kTemp lives in memory that the instance
// supplies.
enum class ValueKind : uint8_t {
  kTemp,
  kInput,        // data: tokens, targets, weights, positions, segments
  kParam,        // a logical tensor as stored; `tensor` indexes Graph::tensors
  kEdgeIn,       // comes from the previous segment
  kGradEdgeOut,  // gradient that comes from the next segment
  kGrad,         // gradient accumulator of `tensor`
  kReducedGrad,  // gradient of `tensor` as the optimizer wants it
  kState,        // optimizer state `slot` of `tensor`
  kScalars,      // the step's scalar block: named by `name`
};

struct Value {
  int id = -1;
  std::string name;
  std::vector<Dim> dims;
  DType dtype = DType::kFloat32;
  ValueKind kind = ValueKind::kTemp;
  std::string region;
  int tensor = -1;    // kParam, kGrad, kReducedGrad, kState: index into Graph::tensors
  int slot = -1;      // kState: which state of the optimizer; edges: which edge
  Sharding sharding;  // set by the partitioner
};

struct Node {
  int id = -1;
  std::string op;
  Attrs attrs;
  std::vector<int> inputs;   // value ids
  std::vector<int> outputs;  // value ids
  Phase phase = Phase::kForward;
  std::string region;
  std::string reason;       // why it is there, when it was not written by the model builder
  bool accumulate = false;  // adds into the outputs that the op can accumulate
  bool in_place = false;    // outputs[0] is the memory of inputs[0]
  bool async = false;       // a collective that may run beside what follows it
  // Runs only where the int32 scalar value `predicate` is more than `above`; -1: always.
  int predicate = -1;
  int above = 0;

  // Inputs and predicate.
  std::vector<int> reads() const;
};

enum class InitKind : uint8_t { kZeros, kOnes, kNormal, kTruncatedNormal };

// A parameter by its logical name and whole shape. `name` may contain "{layer}".
struct LogicalTensor {
  std::string name;
  std::vector<Dim> dims;
  DType dtype = DType::kFloat32;
  InitKind init = InitKind::kNormal;
  double init_std = 0.0;
  bool decay = false;  // weight decay applies
  std::string region;  // whose mapping entries it follows
  // Not trained: follows the router's loads once a step, by this rule of balance_update ("" = it is
  // trained).
  std::string balance_rule;
  double balance_rate = 0;
};

// A scalar or vector that is added up over microbatches and ranks into the step's scalars.
struct Contribution {
  int value = -1;
  std::string to;      // "reduce" or "router_stats"
  int64_t offset = 0;  // element
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<LogicalTensor> tensors;
  std::vector<int> edges_in;        // kEdgeIn values, in order
  std::vector<int> edges_out;       // values handed to the next segment
  std::vector<int> grad_edges_in;   // gradients of edges_in, after autodiff
  std::vector<int> grad_edges_out;  // kGradEdgeOut values, after autodiff
  std::vector<int> tensor_grads;    // value id of each tensor's gradient, -1 = none; after autodiff
  int loss = -1;  // scalar sum of weighted losses of this segment, whose gradient is seeded
  std::vector<Contribution> contributions;

  const Value& value(int id) const { return values[id]; }
  Value& value(int id) { return values[id]; }
  int AddValue(Value value);  // returns the new id
  int AddNode(Node node);     // returns the new id

  // One line a node, for goldens and bug reports. Shardings are shown when `mesh` is given.
  std::string ToText(const Mesh* mesh = nullptr) const;
};

}  // namespace trireme

#endif  // TRIREME_COMMON_IR_GRAPH_H_
