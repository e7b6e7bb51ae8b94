// Reshard steps as graph nodes.
#include "coordinator/compiler/partition/resharder.h"

namespace trireme {

std::string Resharder::KeyOf(const Sharding& sharding) const {
  std::string key;
  for (const std::vector<int>& axes : sharding.dim_axes) {
    for (const int axis : axes) key += std::to_string(axis) + ",";
    key += ";";
  }
  for (const Partial& partial : sharding.partial) {
    key += std::to_string(partial.axis) + (partial.kind == ReduceKind::kMax ? "m" : "s");
  }
  return key;
}

StatusOr<int> Resharder::To(int value, const Sharding& to, Phase phase, const std::string& reason) {
  const Sharding from = graph_.value(value).sharding;
  if (from == to) return value;
  const std::string key = KeyOf(to);
  auto it = cache_.find({value, key, phase});
  // A sum that the forward has already resolved is not reduced again for the backward.
  const bool keep = options_.keep_gathered && graph_.value(value).kind != ValueKind::kParam;
  if (it == cache_.end() && phase == Phase::kBackward && (keep || !from.partial.empty())) {
    it = cache_.find({value, key, Phase::kForward});
  }
  if (it != cache_.end()) return it->second;
  const std::vector<Dim> dims = graph_.value(value).dims;
  ASSIGN_OR_RETURN(
      const std::vector<ReshardStep> steps,
      PlanReshard(mesh_, dims, SizeOf(graph_.value(value).dtype), from, to, options_.flat_dcn));
  int current = value;
  for (const ReshardStep& step : steps) {
    Value out = graph_.value(current);
    out.kind = ValueKind::kTemp;
    out.tensor = -1;
    out.sharding = step.result;
    out.name = graph_.value(value).name;
    Node node{.op = std::string(Name(step.kind)),
              .inputs = {current},
              .phase = phase,
              .region = out.region,
              .reason = reason};
    node.attrs.Set("axes", std::vector<int64_t>(step.axes.begin(), step.axes.end()));
    node.attrs.Set("dim", int64_t{step.dim});
    node.attrs.Set("to_dim", int64_t{step.to_dim});
    node.attrs.Set("kind", std::string(step.reduce == ReduceKind::kMax ? "max" : "sum"));
    current = graph_.AddValue(std::move(out));
    node.outputs = {current};
    graph_.AddNode(std::move(node));
  }
  cache_[{value, key, phase}] = current;
  return current;
}

}  // namespace trireme
