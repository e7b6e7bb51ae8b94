// What the rules' expansions ask of the partitioner: nodes with declared sums, rings, other
// regions, sections that run only where a count asks for them.
#include <algorithm>

#include "common/plan/program.h"
#include "coordinator/compiler/partition/partitioner.h"

namespace trireme {

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

int Partitioner::Largest(int value, const std::string& apart) {
  const int own = Local(value);
  const std::vector<int> kept = AxesOf(apart);
  Value largest = out().value(own);
  for (const Partial& partial : out().value(value).sharding.partial) {
    if (std::find(kept.begin(), kept.end(), partial.axis) != kept.end()) continue;
    largest.sharding.partial.push_back({partial.axis, ReduceKind::kMax});
  }
  if (largest.sharding.partial.empty()) return own;
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
                    current_->op + ": ranks that exchange rows agree on the number of waves");
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

}  // namespace trireme
