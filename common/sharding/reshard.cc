// Checks a reshard, lets the search find its actions, and joins neighbouring actions into
// multi-axis steps.
#include "common/sharding/reshard.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "common/base/check.h"
#include "common/sharding/reshard_search.h"

namespace trireme {
namespace {

// Axes of size 1 change nothing; the search does without them.
Sharding DropTrivialAxes(const Mesh& mesh, Sharding sharding) {
  auto trivial = [&](int axis) { return axis != kMicrobatchAxis && mesh.axis(axis).size == 1; };
  for (std::vector<int>& axes : sharding.dim_axes) {
    axes.erase(std::remove_if(axes.begin(), axes.end(), trivial), axes.end());
  }
  auto& partial = sharding.partial;
  partial.erase(std::remove_if(partial.begin(), partial.end(),
                               [&](const Partial& p) { return trivial(p.axis); }),
                partial.end());
  return sharding;
}

const Partial* FindPartial(const Sharding& sharding, int axis) {
  for (const Partial& partial : sharding.partial) {
    if (partial.axis == axis) return &partial;
  }
  return nullptr;
}

Status CheckPartials(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& from,
                     const Sharding& to) {
  const std::string move =
      "reshard " + ToText(mesh, dims, from) + " -> " + ToText(mesh, dims, to) + ": ";
  for (const Partial& partial : to.partial) {
    const Partial* source = FindPartial(from, partial.axis);
    if (source != nullptr && source->kind == partial.kind) continue;
    return InvalidArgument(move +
                           "the result cannot be partial where the value is not, or not "
                           "in the same way; make it whole or split there");
  }
  const Partial* first = nullptr;
  for (const Partial& partial : from.partial) {
    if (FindPartial(to, partial.axis) != nullptr) continue;
    if (partial.axis == kMicrobatchAxis) {
      return InvalidArgument(move +
                             "a sum over microbatches ends with the step, not by a "
                             "collective; keep microbatch partial in the result");
    }
    if (first != nullptr && first->kind != partial.kind) {
      return InvalidArgument(move +
                             "sums and maxima over different axes depend on their order; "
                             "resolve them in two reshards");
    }
    first = &partial;
  }
  return absl::OkStatus();
}

Fabric ActionFabric(const Mesh& mesh, const ReshardAction& action) {
  return action.kind == ReshardKind::kSlice ? Fabric::kIci : mesh.GroupFabric(action.axes);
}

// Neighbours that may swap at no cost: the same kind on the same fabric on different dims.
// All-reduces commute whatever the fabric, and go ICI first.
void SortCommuting(const Mesh& mesh, std::vector<ReshardAction>& actions) {
  const std::vector<int>& order = mesh.placement_order();
  auto key = [&](const ReshardAction& action) {
    const auto place = std::find(order.begin(), order.end(), action.axes[0]) - order.begin();
    const bool reduce = action.kind == ReshardKind::kAllReduce;
    return std::tuple(action.dim, reduce ? ActionFabric(mesh, action) : Fabric::kIci,
                      reduce ? place : 0);
  };
  for (auto begin = actions.begin(); begin != actions.end();) {
    auto end = std::find_if(begin, actions.end(), [&](const ReshardAction& action) {
      return action.kind != begin->kind ||
             (action.kind != ReshardKind::kAllReduce &&
              ActionFabric(mesh, action) != ActionFabric(mesh, *begin));
    });
    if (begin->kind != ReshardKind::kAllToAll) {
      std::stable_sort(begin, end, [&](const ReshardAction& a, const ReshardAction& b) {
        return key(a) < key(b);
      });
    }
    begin = end;
  }
}

// Joins equal neighbours, keeping axes major to minor. All-to-alls stay: two in a row reverse their
// axes.
std::vector<ReshardAction> Merge(const Mesh& mesh, std::vector<ReshardAction> actions) {
  SortCommuting(mesh, actions);
  std::vector<ReshardAction> merged;
  for (ReshardAction& action : actions) {
    const bool joins = !merged.empty() && merged.back().kind == action.kind &&
                       action.kind != ReshardKind::kAllToAll && merged.back().dim == action.dim &&
                       ActionFabric(mesh, merged.back()) == ActionFabric(mesh, action);
    if (!joins) {
      merged.push_back(std::move(action));
      continue;
    }
    // Gathers take the minor axis first, the others the major one.
    std::vector<int>& axes = merged.back().axes;
    axes.insert(action.kind == ReshardKind::kAllGather ? axes.begin() : axes.end(),
                action.axes.begin(), action.axes.end());
  }
  return merged;
}

// Applies `action` to `sharding` and returns how the resolved axes reduce.
ReduceKind Apply(const ReshardAction& action, Sharding& sharding) {
  ReduceKind reduce = ReduceKind::kSum;
  if (action.kind == ReshardKind::kReduceScatter || action.kind == ReshardKind::kAllReduce) {
    for (int axis : action.axes) {
      const Partial* partial = FindPartial(sharding, axis);
      CHECK(partial != nullptr) << "axis " << axis << " is not partial";
      reduce = partial->kind;
      sharding.partial.erase(sharding.partial.begin() + (partial - sharding.partial.data()));
    }
  }
  if (action.kind == ReshardKind::kAllGather || action.kind == ReshardKind::kAllToAll) {
    std::vector<int>& axes = sharding.dim_axes[action.dim];
    CHECK(axes.size() >= action.axes.size() &&
          std::equal(action.axes.begin(), action.axes.end(), axes.end() - action.axes.size()));
    axes.resize(axes.size() - action.axes.size());
  }
  const bool grows_dim =
      action.kind == ReshardKind::kSlice || action.kind == ReshardKind::kReduceScatter;
  const int target = grows_dim ? action.dim : action.to_dim;
  if (target >= 0) {
    std::vector<int>& axes = sharding.dim_axes[target];
    axes.insert(axes.end(), action.axes.begin(), action.axes.end());
  }
  return reduce;
}

std::vector<ReshardStep> MakeSteps(const Mesh& mesh, const std::vector<Dim>& dims,
                                   int64_t element_bytes, Sharding sharding,
                                   const std::vector<ReshardAction>& actions) {
  std::vector<ReshardStep> steps;
  for (const ReshardAction& action : actions) {
    int64_t local_bytes = element_bytes;
    for (int64_t size : LocalSizes(mesh, dims, sharding)) local_bytes *= size;
    ReshardStep step;
    step.kind = action.kind;
    step.axes = action.axes;
    step.dim = action.dim;
    step.to_dim = action.to_dim;
    step.bytes = ReshardBytes(action.kind, local_bytes, mesh.GroupSize(action.axes));
    step.fabric = ActionFabric(mesh, action);
    step.reduce = Apply(action, sharding);
    step.result = sharding;
    steps.push_back(std::move(step));
  }
  return steps;
}

// Resolves at once, by one all-reduce, what `problem` sums over slices and inside them; nothing
// when no sum crosses slices.
std::optional<ReshardAction> ReduceFlat(const Mesh& mesh, ReshardProblem& problem) {
  ReshardAction action{.kind = ReshardKind::kAllReduce};
  for (const int axis : mesh.placement_order()) {
    const Partial* partial = FindPartial(problem.from, axis);
    if (partial != nullptr && FindPartial(problem.to, axis) == nullptr) action.axes.push_back(axis);
  }
  if (action.axes.size() < 2 || mesh.GroupFabric(action.axes) != Fabric::kDcn) return std::nullopt;
  std::erase_if(problem.from.partial, [&](const Partial& partial) {
    return std::find(action.axes.begin(), action.axes.end(), partial.axis) != action.axes.end();
  });
  return action;
}

}  // namespace

std::string_view Name(ReshardKind kind) {
  switch (kind) {
    case ReshardKind::kSlice:
      return "slice";
    case ReshardKind::kAllGather:
      return "all_gather";
    case ReshardKind::kReduceScatter:
      return "reduce_scatter";
    case ReshardKind::kAllReduce:
      return "all_reduce";
    case ReshardKind::kAllToAll:
      return "all_to_all";
  }
  return "unknown";
}

StatusOr<std::vector<ReshardStep>> PlanReshard(const Mesh& mesh, const std::vector<Dim>& dims,
                                               int64_t element_bytes, const Sharding& from,
                                               const Sharding& to, bool flat) {
  if (from == to) return std::vector<ReshardStep>();
  RETURN_IF_ERROR(Validate(mesh, dims, from, "reshard source"));
  RETURN_IF_ERROR(Validate(mesh, dims, to, "reshard target"));
  ReshardProblem problem;
  for (const Dim& dim : dims) problem.sizes.push_back(dim.physical());
  problem.element_bytes = element_bytes;
  problem.from = DropTrivialAxes(mesh, from);
  problem.to = DropTrivialAxes(mesh, to);
  RETURN_IF_ERROR(CheckPartials(mesh, dims, problem.from, problem.to));
  const Sharding start = problem.from;
  const std::optional<ReshardAction> first =
      flat ? ReduceFlat(mesh, problem) : std::optional<ReshardAction>();
  ASSIGN_OR_RETURN(std::vector<ReshardAction> actions, SearchReshard(mesh, problem));
  actions = Merge(mesh, std::move(actions));
  if (first.has_value()) actions.insert(actions.begin(), *first);
  std::vector<ReshardStep> steps = MakeSteps(mesh, dims, element_bytes, start, actions);
  if (!steps.empty()) steps.back().result = to;
  return steps;
}

std::string ToText(const Mesh& mesh, const std::vector<ReshardStep>& steps) {
  std::string text;
  for (const ReshardStep& step : steps) {
    text += std::string(Name(step.kind));
    if (step.kind == ReshardKind::kReduceScatter || step.kind == ReshardKind::kAllReduce) {
      text += step.reduce == ReduceKind::kSum ? " SUM" : " MAX";
    }
    text += " over (";
    for (size_t i = 0; i < step.axes.size(); ++i) {
      text += (i > 0 ? "," : "") + mesh.axis(step.axes[i]).name;
    }
    text += ")";
    if (step.kind != ReshardKind::kSlice) text += " " + std::string(Name(step.fabric));
    if (step.dim >= 0) text += " dim " + std::to_string(step.dim);
    if (step.to_dim >= 0) text += " to dim " + std::to_string(step.to_dim);
    text += ", " + std::to_string(step.bytes) + " bytes\n";
  }
  return text;
}

}  // namespace trireme
