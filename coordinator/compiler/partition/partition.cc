// Visits the nodes in order; each gets its operands in the sharding that its dim names call for.
#include "coordinator/compiler/partition/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/plan/program.h"
#include "coordinator/compiler/partition/accumulator_sharding.h"
#include "coordinator/compiler/partition/node_sharding.h"
#include "coordinator/compiler/partition/resharder.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

class Partitioner : public ExpandContext {
 public:
  Partitioner(const Graph& source, DimAxes& dim_axes, const PartitionOptions& options)
      : source_(source),
        axes_(dim_axes),
        options_(options),
        mesh_(dim_axes.mesh()),
        resharder_(mesh_, result_.graph, {options.keep_gathered, options.flat_dcn}),
        local_of_(source.values.size(), -1) {}

  StatusOr<PartitionedSegment> Run();

  std::vector<int> AddPartial(const std::string& op, const Attrs& attrs,
                              const std::vector<int>& inputs, const std::string& dim,
                              const std::vector<ReduceKind>& kinds) override;
  std::vector<int> Add(const std::string& op, const Attrs& attrs,
                       const std::vector<int>& inputs) override;
  int Resolve(int value) override;
  int Local(int value) override;
  int64_t RingSize(const std::string& dim) override;
  int Pass(int value, const std::string& dim) override;
  int RingBlock(int value, const std::string& dim, int64_t shift) override;
  void InRegion(const std::string& region) override { current_->region = region; }
  int Enter(int value, const std::string& region,
            const std::vector<std::pair<std::string, std::string>>& dims) override;
  std::vector<int> AddInto(const std::string& op, const Attrs& attrs,
                           const std::vector<int>& inputs, const std::vector<int>& into) override;
  int Largest(int value, const std::string& dim) override;
  void When(int value, int above) override;

 private:
  Graph& out() { return result_.graph; }
  void Pad(std::vector<Dim>& dims) const;
  Status AddBoundValues();
  Status AddTensor(const LogicalTensor& tensor);
  Status Visit(const Node& node);
  Status VisitView(const Node& node);
  StatusOr<int> Operand(int value, const Sharding& required, Phase phase);
  int ViewLike(int value, int like, Phase phase);
  std::vector<int> AxesOf(const std::string& dim);
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  void KeepOrigins(const Node& node, const NodeSharding& sharding, int output);
  StatusOr<std::vector<int>> Emit(const Node& node);
  Status FinishEdges();
  Status FinishGradient(int tensor);
  void Contribute(const Contribution& contribution);
  Status GatherOnce(int value, const Sharding& required, int* gathered);

  const Graph& source_;
  DimAxes& axes_;
  const PartitionOptions& options_;
  const Mesh& mesh_;
  PartitionedSegment result_;
  Resharder resharder_;
  std::vector<int> local_of_;                 // local value id by source value id
  std::map<int, SumOrigins> origins_;         // by local value
  std::map<int, int> viewed_;                 // local value that a local view shows
  std::map<std::pair<int, int>, int> views_;  // what ViewLike made, by value and like
  Node* current_ = nullptr;                   // node being expanded
  size_t when_from_ = 0;                      // first node that `current_`'s predicate governs
  Status status_;                             // first error inside an expansion
};

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

std::vector<int> Partitioner::Add(const std::string& op, const Attrs& attrs,
                                  const std::vector<int>& inputs) {
  StatusOr<std::vector<int>> outputs = Emit({.op = op,
                                             .attrs = attrs,
                                             .inputs = inputs,
                                             .phase = current_->phase,
                                             .region = current_->region,
                                             .reason = "expanded from " + current_->op});
  if (!outputs.ok()) {
    Fail(outputs.status());
    return std::vector<int>(8, 0);
  }
  return *outputs;
}

std::vector<int> Partitioner::AddPartial(const std::string& op, const Attrs& attrs,
                                         const std::vector<int>& inputs, const std::string& dim,
                                         const std::vector<ReduceKind>& kinds) {
  const std::vector<int> outputs = Add(op, attrs, inputs);
  if (!status_.ok()) return outputs;
  const std::vector<int> axes =
      axes_.mesh().num_axes() == 0
          ? std::vector<int>{}
          : axes_.Axes(MappingKind::kCompute, current_->region, {dim, 0}, op)
                .value_or(std::vector<int>{});
  for (size_t i = 0; i < outputs.size() && i < kinds.size(); ++i) {
    std::vector<Partial>& partial = out().value(outputs[i]).sharding.partial;
    std::erase_if(partial, [&](const Partial& p) {
      return std::find(axes.begin(), axes.end(), p.axis) != axes.end();
    });
    for (const int axis : axes) partial.push_back({axis, kinds[i]});
    std::sort(partial.begin(), partial.end());
  }
  return outputs;
}

int Partitioner::Resolve(int value) {
  Sharding target = out().value(value).sharding;
  target.partial.clear();
  const StatusOr<int> resolved = resharder_.To(
      value, target, current_->phase,
      current_->op + " over " + axes_.EntryFor(MappingKind::kCompute, current_->region, "vocab"));
  if (!resolved.ok() && status_.ok()) status_ = resolved.status();
  return resolved.ok() ? *resolved : value;
}

int Partitioner::Local(int value) {
  if (out().value(value).sharding.partial.empty()) return value;
  Value local = out().value(value);
  local.sharding.partial.clear();
  const int id = out().AddValue(std::move(local));
  out().AddNode({.op = "rename",
                 .attrs = {{"dims", std::string()}, {"from_region", current_->region}},
                 .inputs = {value},
                 .outputs = {id},
                 .phase = current_->phase,
                 .region = current_->region,
                 .reason = "each rank's own part"});
  return id;
}

// Mesh axes that split `dim` in the region of the node being expanded.
std::vector<int> Partitioner::AxesOf(const std::string& dim) {
  const StatusOr<std::vector<int>> axes =
      axes_.Axes(MappingKind::kCompute, current_->region, {dim, 0}, current_->op);
  if (axes.ok()) return *axes;
  Fail(axes.status());
  return {};
}

int64_t Partitioner::RingSize(const std::string& dim) {
  const std::vector<int> axes = AxesOf(dim);
  if (axes.size() > 1) {
    Fail(InvalidArgument(current_->op + ": " + dim + " is split over " +
                         std::to_string(axes.size()) + " axes (" +
                         axes_.EntryFor(MappingKind::kCompute, current_->region, dim) +
                         "); a ring has one: map it to one axis or to null"));
  }
  return axes.size() == 1 ? mesh_.axis(axes[0]).size : 1;
}

int Partitioner::Pass(int value, const std::string& dim) {
  Value received = out().value(value);
  received.kind = ValueKind::kTemp;
  const int id = out().AddValue(std::move(received));
  origins_[id] = origins_[value];
  Node node{.op = std::string(kPermuteOp),
            .inputs = {value},
            .outputs = {id},
            .phase = current_->phase,
            .region = current_->region,
            .reason = "ring of " + current_->op + ": " +
                      axes_.EntryFor(MappingKind::kCompute, current_->region, dim),
            .async = true};
  node.attrs.Set("axes", std::vector<int64_t>{AxesOf(dim).at(0)});
  node.attrs.Set("shift", int64_t{1});
  out().AddNode(std::move(node));
  return id;
}

int Partitioner::RingBlock(int value, const std::string& dim, int64_t shift) {
  Value block = out().value(value);
  const int at = FindDim(block.dims, dim);
  const int axis = AxesOf(dim).at(0);
  if (at < 0 || !block.sharding.dim_axes[at].empty()) {
    Fail(Internal(current_->op + ": " + block.name + " is not whole along " + dim));
    return value;
  }
  block.kind = ValueKind::kTemp;
  block.sharding.dim_axes[at] = {axis};
  const int id = out().AddValue(std::move(block));
  Node node{.op = "slice",
            .inputs = {value},
            .outputs = {id},
            .phase = current_->phase,
            .region = current_->region,
            .reason = "block of the ring"};
  node.attrs.Set("axes", std::vector<int64_t>{axis});
  node.attrs.Set("dim", int64_t{at});
  node.attrs.Set("to_dim", int64_t{-1});
  node.attrs.Set("shift", shift);
  node.attrs.Set("kind", std::string("sum"));
  out().AddNode(std::move(node));
  return id;
}

int Partitioner::Enter(int value, const std::string& region,
                       const std::vector<std::pair<std::string, std::string>>& dims) {
  Value seen = out().value(value);
  seen.kind = ValueKind::kTemp;
  seen.tensor = -1;
  std::string renamed;
  for (const auto& [from, to] : dims) {
    const int at = FindDim(seen.dims, from);
    if (at < 0) {
      Fail(Internal(current_->op + ": " + seen.name + " has no dim " + from));
      return value;
    }
    seen.dims[at].name = to;
    renamed += (renamed.empty() ? "" : ",") + from + ":" + to;
  }
  Node view{.op = "rename",
            .attrs = {{"dims", renamed}, {"from_region", seen.region}},
            .inputs = {value},
            .phase = current_->phase,
            .region = region};
  seen.region = region;
  const int id = out().AddValue(std::move(seen));
  view.outputs = {id};
  out().AddNode(std::move(view));
  origins_[id] = origins_[value];
  StatusOr<Sharding> target =
      axes_.ShardingOf(MappingKind::kCompute, region, out().value(id).dims, current_->op);
  if (!target.ok()) {
    Fail(target.status());
    return id;
  }
  target->partial = out().value(id).sharding.partial;
  const std::string reason =
      current_->op + ": " + ReshardReason(axes_, out(), id, origins_[id], region, *target);
  const StatusOr<int> moved = resharder_.To(id, *target, current_->phase, reason);
  if (!moved.ok()) Fail(moved.status());
  return moved.ok() ? *moved : id;
}

std::vector<int> Partitioner::AddInto(const std::string& op, const Attrs& attrs,
                                      const std::vector<int>& inputs,
                                      const std::vector<int>& into) {
  std::vector<int> outputs = Add(op, attrs, inputs);
  if (!status_.ok()) return outputs;
  Node& node = out().nodes.back();
  const std::vector<int>& accumulating = FindRule(op).accumulating_outputs;
  for (size_t i = 0; i < accumulating.size(); ++i) {
    const Value& made = out().value(node.outputs[accumulating[i]]);
    if (made.sharding != out().value(into[i]).sharding || made.dims != out().value(into[i]).dims) {
      Fail(Internal(op + " adds into a value that lies differently"));
    }
    node.outputs[accumulating[i]] = outputs[accumulating[i]] = into[i];
  }
  node.accumulate = true;
  return outputs;
}

int Partitioner::Largest(int value, const std::string& dim) {
  const int own = Local(value);
  const std::vector<int> axes = AxesOf(dim);
  if (axes.empty()) return own;
  Value largest = out().value(own);
  for (const int axis : axes) largest.sharding.partial.push_back({axis, ReduceKind::kMax});
  std::sort(largest.sharding.partial.begin(), largest.sharding.partial.end());
  const int id = out().AddValue(std::move(largest));
  out().AddNode({.op = "rename",
                 .attrs = {{"dims", std::string()}, {"from_region", current_->region}},
                 .inputs = {own},
                 .outputs = {id},
                 .phase = current_->phase,
                 .region = current_->region});
  Sharding target = out().value(id).sharding;
  target.partial.clear();
  const StatusOr<int> resolved =
      resharder_.To(id, target, current_->phase,
                    current_->op + ": ranks that share experts agree on the number of waves");
  if (!resolved.ok()) Fail(resolved.status());
  return resolved.ok() ? *resolved : own;
}

// Collectives of a predicate's section are not offered to what stands outside of it.
void Partitioner::When(int value, int above) {
  if (current_->predicate >= 0) {
    for (size_t i = when_from_; i < out().nodes.size(); ++i) {
      out().nodes[i].predicate = current_->predicate;
      out().nodes[i].above = current_->above;
    }
    if (value < 0) resharder_.Forget();
  }
  if (value >= 0 && current_->predicate < 0) resharder_.Remember();
  current_->predicate = value;
  current_->above = above;
  when_from_ = out().nodes.size();
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

}  // namespace

StatusOr<PartitionedSegment> Partition(const Graph& graph, DimAxes& dim_axes,
                                       const PartitionOptions& options) {
  return Partitioner(graph, dim_axes, options).Run();
}

}  // namespace trireme
