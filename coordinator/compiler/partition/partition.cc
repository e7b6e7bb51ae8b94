// Visits the nodes in order; each gets its operands in the sharding that its dim names call for.
#include "coordinator/compiler/partition/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/plan/program.h"
#include "coordinator/compiler/partition/accumulator_sharding.h"
#include "coordinator/compiler/partition/partitioner.h"

namespace trireme {

void Partitioner::Pad(std::vector<Dim>& dims) const {
  for (Dim& dim : dims) {
    if (dim.name != "vocab") continue;
    const StatusOr<int64_t> padded = axes_.PaddedVocab(dim.size);
    dim.padded_size = *padded == dim.size ? 0 : *padded;
  }
}

Status Partitioner::AddTensor(const LogicalTensor& tensor) {
  LogicalTensor padded = tensor;
  Pad(padded.dims);
  TensorShardings shardings;
  ASSIGN_OR_RETURN(shardings.param,
                   axes_.ShardingOf(MappingKind::kParam, tensor.region, padded.dims, tensor.name));
  ASSIGN_OR_RETURN(shardings.optimizer, axes_.ShardingOf(MappingKind::kOptimizer, tensor.region,
                                                         padded.dims, tensor.name));
  RETURN_IF_ERROR(Validate(mesh_, padded.dims, shardings.param, tensor.name));
  RETURN_IF_ERROR(Validate(mesh_, padded.dims, shardings.optimizer, tensor.name));
  if (!tensor.balance_rule.empty()) {  // its rule needs it whole, and everybody has its loads
    shardings.param = shardings.optimizer = Replicated(static_cast<int>(padded.dims.size()));
  }
  shardings.accumulator = shardings.optimizer;
  out().tensors.push_back(std::move(padded));
  result_.tensors.push_back(std::move(shardings));
  return absl::OkStatus();
}

Status Partitioner::AddBoundValues() {
  for (const LogicalTensor& tensor : source_.tensors) RETURN_IF_ERROR(AddTensor(tensor));
  for (const Value& value : source_.values) {
    if (value.kind == ValueKind::kTemp) continue;
    Value local = value;
    Pad(local.dims);
    switch (value.kind) {
      case ValueKind::kParam:
        local.sharding = result_.tensors[value.tensor].param;
        break;
      case ValueKind::kInput: {
        // Data is split by batch only; positions are sliced where a region splits them.
        local.sharding = Replicated(static_cast<int>(local.dims.size()));
        ASSIGN_OR_RETURN(local.sharding.dim_axes[0],
                         axes_.Axes(MappingKind::kCompute, "residual", local.dims[0], value.name));
        break;
      }
      default: {
        ASSIGN_OR_RETURN(local.sharding, axes_.ShardingOf(MappingKind::kCompute, "residual",
                                                          local.dims, value.name));
      }
    }
    RETURN_IF_ERROR(Validate(mesh_, local.dims, local.sharding, source_.name + "." + value.name));
    local_of_[value.id] = out().AddValue(std::move(local));
  }
  const auto local_ids = [this](const std::vector<int>& ids) {
    std::vector<int> result;
    for (const int id : ids) result.push_back(local_of_[id]);
    return result;
  };
  out().edges_in = local_ids(source_.edges_in);
  out().grad_edges_out = local_ids(source_.grad_edges_out);
  return absl::OkStatus();
}

Status Partitioner::GatherOnce(int value, const Sharding& required, int* gathered) {
  ASSIGN_OR_RETURN(*gathered,
                   resharder_.To(value, required, Phase::kGather,
                                 "gather: step (" + ParamEntries(axes_, out(), value) + ")"));
  return absl::OkStatus();
}

// `value` with the name, region and dim names of `like`, which is a view of its like.
int Partitioner::ViewLike(int value, int like, Phase phase) {
  const auto [it, added] = views_.emplace(std::make_pair(value, like), -1);
  if (!added) return it->second;
  Value view = out().value(like);
  view.sharding = out().value(value).sharding;
  it->second = out().AddValue(std::move(view));
  const Node node{.op = "rename",
                  .attrs = {{"dims", std::string()}, {"from_region", out().value(value).region}},
                  .inputs = {value},
                  .outputs = {it->second},
                  .phase = phase,
                  .region = out().value(like).region};
  out().AddNode(node);
  return it->second;
}

// `value` resharded to `required`; says why. A view is moved as what it shows, so that two views of
// one value (of the MLP and of its experts) share the copy.
StatusOr<int> Partitioner::Operand(int value, const Sharding& required, Phase phase) {
  const Value& have = out().value(value);
  if (have.sharding == required) return value;
  if (have.kind == ValueKind::kParam && options_.gather == GatherPolicy::kStep) {
    int gathered = -1;
    RETURN_IF_ERROR(GatherOnce(value, required, &gathered));
    return gathered;
  }
  const auto viewed = viewed_.find(value);
  const int shown = viewed == viewed_.end() ? value : viewed->second;
  const std::string reason =
      ReshardReason(axes_, out(), shown, origins_[value], have.region, required);
  if (shown == value) return resharder_.To(value, required, phase, reason);
  ASSIGN_OR_RETURN(const int moved, resharder_.To(viewed->second, required, phase, reason));
  return ViewLike(moved, value, phase);
}

// Remembers why `output` of `node` is partial: an own sum, or one that came in with an operand.
void Partitioner::KeepOrigins(const Node& node, const NodeSharding& sharding, int output) {
  for (const Partial& partial : out().value(output).sharding.partial) {
    for (const int input : node.inputs) {
      const SumOrigins& from = origins_[input];
      if (const auto it = from.find(partial.axis); it != from.end()) origins_[output].insert(*it);
    }
    const auto dim = sharding.dim_of_axis.find(partial.axis);
    if (dim == sharding.dim_of_axis.end() || origins_[output].count(partial.axis) > 0) continue;
    origins_[output][partial.axis] =
        dim->second + " is summed, " +
        axes_.EntryFor(MappingKind::kCompute, node.region, dim->second);
  }
}

Status Partitioner::VisitView(const Node& node) {
  const int source = local_of_[node.inputs[0]];
  Value value = out().value(source);
  const Value& named = source_.value(node.outputs[0]);
  value.name = named.name;
  value.region = named.region;
  value.kind = ValueKind::kTemp;
  value.tensor = -1;
  for (size_t i = 0; i < value.dims.size(); ++i) value.dims[i].name = named.dims[i].name;
  Node local = node;
  local.inputs = {source};
  local.outputs = {out().AddValue(std::move(value))};
  local_of_[node.outputs[0]] = local.outputs[0];
  origins_[local.outputs[0]] = origins_[source];
  const auto viewed = viewed_.find(source);
  viewed_[local.outputs[0]] = viewed == viewed_.end() ? source : viewed->second;
  out().AddNode(std::move(local));
  return absl::OkStatus();
}

// Appends one ordinary node whose inputs are local ids; outputs get dims from Infer and shardings
// by the formula.
StatusOr<std::vector<int>> Partitioner::Emit(const Node& node) {
  ASSIGN_OR_RETURN(std::vector<ValueType> types, FindRule(node.op).infer(out(), node));
  for (ValueType& type : types) Pad(type.dims);
  ASSIGN_OR_RETURN(const NodeSharding sharding, ShardNode(axes_, out(), node, types));
  Node local = node;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(local.inputs[i], Operand(node.inputs[i], sharding.inputs[i], node.phase));
  }
  local.outputs.clear();
  for (size_t i = 0; i < types.size(); ++i) {
    local.outputs.push_back(out().AddValue({.name = node.op,
                                            .dims = types[i].dims,
                                            .dtype = types[i].dtype,
                                            .region = node.region,
                                            .sharding = sharding.outputs[i]}));
    KeepOrigins(node, sharding, local.outputs.back());
  }
  const std::vector<int> outputs = local.outputs;
  out().AddNode(std::move(local));
  return outputs;
}

Status Partitioner::Visit(const Node& node) {
  const OpRule& rule = FindRule(node.op);
  if (rule.is_view) return VisitView(node);
  Node local = node;
  for (int& input : local.inputs) input = local_of_[input];
  std::vector<int> outputs;
  if (rule.expand != nullptr) {
    Node expanded = local;
    current_ = &expanded;
    outputs = rule.expand(*this, out(), local);
    When(-1, 0);
    current_ = nullptr;
    RETURN_IF_ERROR(status_);
  } else {
    ASSIGN_OR_RETURN(outputs, Emit(local));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    local_of_[node.outputs[i]] = outputs[i];
    out().value(outputs[i]).name = source_.value(node.outputs[i]).name;
  }
  return absl::OkStatus();
}

Status Partitioner::FinishEdges() {
  const auto finish = [this](const std::vector<int>& ids, Phase phase,
                             std::vector<int>& result) -> Status {
    for (const int id : ids) {
      const int value = local_of_[id];
      const std::vector<Dim> dims = out().value(value).dims;
      // Logits of a generating head are no residual stream: they are wanted whole.
      const bool residual = FindDim(dims, "embed") >= 0;
      Sharding target = Replicated(static_cast<int>(dims.size()));
      if (residual) {
        ASSIGN_OR_RETURN(target, axes_.ShardingOf(MappingKind::kCompute, "residual", dims,
                                                  source_.name + " edge"));
      }
      ASSIGN_OR_RETURN(const int edge, Operand(value, target, phase));
      result.push_back(edge);
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(finish(source_.edges_out, Phase::kForward, out().edges_out));
  return finish(source_.grad_edges_in, Phase::kBackward, out().grad_edges_in);
}

// Adds partial sums to the step's scalars; ranks that only repeat them stay out.
void Partitioner::Contribute(const Contribution& contribution) {
  const int value = local_of_[contribution.value];
  const int target = out().AddValue({.name = contribution.to,
                                     .dims = out().value(value).dims,
                                     .dtype = DType::kFloat64,
                                     .kind = ValueKind::kScalars,
                                     .region = "optimizer",
                                     .sharding = out().value(value).sharding});
  Node node{.op = "contribute",
            .inputs = {value},
            .outputs = {target},
            .phase = Phase::kForward,
            .region = out().value(value).region,
            .reason = "sums of the step",
            .accumulate = true};
  node.attrs.Set("scalar_offset", contribution.offset);
  node.attrs.Set("owner_axes", OwnerAxes(mesh_, out().value(value).sharding, options_.stage_axes));
  out().AddNode(std::move(node));
}

Status Partitioner::FinishGradient(int tensor) {
  const int source_grad = source_.tensor_grads[tensor];
  if (source_grad < 0) return absl::OkStatus();
  const int grad = local_of_[source_grad];
  out().value(grad).name = "gradient of " + out().tensors[tensor].name;
  TensorShardings& shardings = result_.tensors[tensor];
  PartitionOptions policy = options_;
  if (options_.shared_tensors.count(out().tensors[tensor].name) > 0) policy.num_microbatches = 1;
  shardings.accumulator = AccumulatorSharding(
      mesh_, out().tensors[tensor].dims, out().value(grad).sharding, shardings.optimizer, policy);
  ASSIGN_OR_RETURN(const int resolved,
                   resharder_.To(grad, shardings.accumulator, Phase::kBackward,
                                 GradientReason(axes_, out(), tensor, "reduce: microbatch")));
  const int accumulator = out().AddValue({.name = "grad:" + out().tensors[tensor].name,
                                          .dims = out().tensors[tensor].dims,
                                          .dtype = DType::kFloat32,
                                          .kind = ValueKind::kGrad,
                                          .region = out().tensors[tensor].region,
                                          .tensor = tensor,
                                          .sharding = shardings.accumulator});
  out().AddNode({.op = "accumulate",
                 .inputs = {resolved},
                 .outputs = {accumulator},
                 .phase = Phase::kBackward,
                 .region = out().tensors[tensor].region,
                 .reason = "sum over microbatches",
                 .accumulate = true});
  return absl::OkStatus();
}

StatusOr<PartitionedSegment> Partitioner::Run() {
  out().name = source_.name;
  RETURN_IF_ERROR(AddBoundValues());
  for (const Node& node : source_.nodes) {
    Status status = Visit(node);
    if (!status.ok()) return Annotate(status, "segment " + source_.name + ", " + node.op);
  }
  RETURN_IF_ERROR(FinishEdges());
  if (source_.loss >= 0) out().loss = local_of_[source_.loss];
  for (const Contribution& contribution : source_.contributions) Contribute(contribution);
  for (size_t t = 0; t < source_.tensor_grads.size(); ++t) {
    RETURN_IF_ERROR(FinishGradient(static_cast<int>(t)));
  }
  return std::move(result_);
}

StatusOr<PartitionedSegment> Partition(const Graph& graph, DimAxes& dim_axes,
                                       const PartitionOptions& options) {
  return Partitioner(graph, dim_axes, options).Run();
}

}  // namespace trireme
