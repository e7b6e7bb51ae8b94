// The sharding of a node's operands from dim names alone (see kernels/ops/rule.h), and the
// sentences that explain it.
#ifndef TRIREME_COORDINATOR_COMPILER_PARTITION_NODE_SHARDING_H_
#define TRIREME_COORDINATOR_COMPILER_PARTITION_NODE_SHARDING_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coordinator/compiler/partition/dim_axes.h"
#include "kernels/ops/rule.h"

namespace trireme {

struct NodeSharding {
  std::vector<Sharding> inputs;   // required
  std::vector<Sharding> outputs;  // natural: partial sums not yet resolved
  std::map<int, std::string>
      dim_of_axis;  // which dim of the node an axis splits, to explain its sums
};

// `node`'s inputs are values of `graph` with shardings; `types` are its outputs, padded.
// Partial inputs pass through where the op is linear: kJoint when all operands lie alike, kEach
// when exactly one is partial and over axes the node does not use.
StatusOr<NodeSharding> ShardNode(DimAxes& axes, const Graph& graph, const Node& node,
                                 const std::vector<ValueType>& types);

// Axes along which a value is repeated, as an attribute: a rank whose coordinates there are not all
// 0 is no owner.
std::vector<int64_t> OwnerAxes(const Mesh& mesh, const Sharding& sharding,
                               const std::vector<int>& stage_axes);

// "param_mapping embed: data (default)" for the dims that split `value`, a parameter.
std::string ParamEntries(const DimAxes& axes, const Graph& graph, int value);
// By mesh axis: why a value is partial over it, for example "mlp contracted, shared_mapping mlp:
// model (default)".
using SumOrigins = std::map<int, std::string>;
// Why `value`, partial because of `origins`, is moved to `to` for a use in `region`.
std::string ReshardReason(const DimAxes& axes, const Graph& graph, int value,
                          const SumOrigins& origins, const std::string& region, const Sharding& to);
std::string GradientReason(const DimAxes& axes, const Graph& graph, int tensor,
                           const std::string& policy);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PARTITION_NODE_SHARDING_H_
