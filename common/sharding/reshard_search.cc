// A state packs the place of every moving axis in one byte: high half its dim (or whole, or
// partial), low half its position among the moving axes of that dim. Costs are whole numbers, so
// ties break the same way everywhere.
#include "common/sharding/reshard_search.h"

#include <algorithm>
#include <array>
#include <queue>
#include <string>
#include <unordered_map>

#include "common/base/check.h"
#include "common/base/math.h"

namespace trireme {
namespace {

constexpr int kMaxMoving = 8;
constexpr int kMaxDims = 14;
constexpr int kWhole = 14;
constexpr int kPartial = 15;
constexpr int64_t kDcnWeight = 16;
constexpr int64_t kCostPerByte = 8;  // so that the charges below only break ties
constexpr int64_t kCollectiveCharge = 3;
constexpr int64_t kSliceCharge = 1;

using State = uint64_t;

int PlaceOf(State state, int moving) { return static_cast<int>(state >> (8 * moving + 4)) & 15; }
int PositionOf(State state, int moving) { return static_cast<int>(state >> (8 * moving)) & 15; }
State WithPlace(State state, int moving, int place, int position) {
  const State byte = static_cast<State>(place << 4 | position);
  return (state & ~(State{255} << (8 * moving))) | byte << (8 * moving);
}

struct Edge {
  ReshardKind kind = ReshardKind::kSlice;
  int8_t moving = -1;  // the first moved axis; kAllToAll takes it and all that follow it in its dim
  int8_t dim = -1;
  int8_t to_dim = -1;
  Fabric fabric = Fabric::kIci;
};

struct Node {
  int64_t cost = 0;
  State previous = 0;
  Edge edge;
  bool settled = false;
};

struct HashState {
  size_t operator()(State state) const { return static_cast<size_t>(Mix64(state)); }
};

class Search {
 public:
  Search(const Mesh& mesh, const ReshardProblem& problem) : mesh_(mesh), problem_(problem) {}
  StatusOr<std::vector<ReshardAction>> Run();

 private:
  // What Expand needs to know about the state that it leaves.
  struct View {
    State state = 0;
    const Node* node = nullptr;
    std::array<int64_t, kMaxDims> local{};
    std::array<int8_t, kMaxDims> count{};  // moving axes in each dim
    int64_t local_bytes = 0;
  };

  void FindMovingAxes();
  State Encode(const Sharding& sharding) const;
  View Look(State state, const Node& node) const;
  void Expand(const View& view);
  void ExpandAllToAll(const View& view, int moving);
  void Relax(const View& view, const Edge& edge, State next, int64_t group_size);
  std::vector<ReshardAction> PathTo(State goal) const;
  int64_t Size(int moving) const { return mesh_.axis(moving_[moving]).size; }
  Fabric FabricOf(int moving) const { return mesh_.axis(moving_[moving]).fabric; }
  int num_moving() const { return static_cast<int>(moving_.size()); }
  int num_dims() const { return static_cast<int>(problem_.sizes.size()); }

  const Mesh& mesh_;
  const ReshardProblem& problem_;
  std::vector<int> frozen_;       // leading axes of each dim that stay
  std::vector<int64_t> base_;     // size of each dim once cut by its frozen axes
  std::vector<int> moving_;       // mesh axis ids
  std::vector<bool> ends_split_;  // by index into moving_
  // By index into moving_: a sum inside slices that ends whole, beside one between slices. Split on
  // the way, it leaves the slower fabric a shard to add.
  std::vector<bool> detour_;
  std::unordered_map<State, Node, HashState> nodes_;
  using Entry = std::pair<int64_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

void Search::FindMovingAxes() {
  std::vector<int> end_places(mesh_.num_axes(), -1);
  for (int d = 0; d < num_dims(); ++d) {
    const std::vector<int>& from = problem_.from.dim_axes[d];
    const std::vector<int>& to = problem_.to.dim_axes[d];
    const auto end = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
    frozen_.push_back(static_cast<int>(end.first - from.begin()));
    base_.push_back(problem_.sizes[d] / mesh_.GroupSize({from.begin(), end.first}));
    moving_.insert(moving_.end(), end.first, from.end());
    for (auto axis = end.second; axis != to.end(); ++axis) end_places[*axis] = d;
    moving_.insert(moving_.end(), end.second, to.end());
  }
  const std::vector<Partial>& kept = problem_.to.partial;
  for (const Partial& partial : problem_.from.partial) {
    if (std::find(kept.begin(), kept.end(), partial) == kept.end()) moving_.push_back(partial.axis);
  }
  std::sort(moving_.begin(), moving_.end());
  moving_.erase(std::unique(moving_.begin(), moving_.end()), moving_.end());
  for (int axis : moving_) ends_split_.push_back(end_places[axis] >= 0);
  const auto is_summed = [&](int axis) {
    return std::any_of(problem_.from.partial.begin(), problem_.from.partial.end(),
                       [&](const Partial& partial) { return partial.axis == axis; });
  };
  const bool between = std::any_of(moving_.begin(), moving_.end(), [&](int axis) {
    return mesh_.axis(axis).fabric == Fabric::kDcn && is_summed(axis);
  });
  for (int m = 0; m < num_moving(); ++m) {
    detour_.push_back(between && !ends_split_[m] && FabricOf(m) == Fabric::kIci &&
                      is_summed(moving_[m]));
  }
}

State Search::Encode(const Sharding& sharding) const {
  State state = 0;
  for (int m = 0; m < num_moving(); ++m) {
    int place = kWhole, position = 0;
    for (int d = 0; d < num_dims(); ++d) {
      const std::vector<int>& axes = sharding.dim_axes[d];
      const auto it = std::find(axes.begin(), axes.end(), moving_[m]);
      if (it == axes.end()) continue;
      place = d;
      position = static_cast<int>(it - axes.begin()) - frozen_[d];
    }
    for (const Partial& partial : sharding.partial) {
      if (partial.axis == moving_[m]) place = kPartial;
    }
    state = WithPlace(state, m, place, position);
  }
  return state;
}

Search::View Search::Look(State state, const Node& node) const {
  View view;
  view.state = state;
  view.node = &node;
  std::copy(base_.begin(), base_.end(), view.local.begin());
  for (int m = 0; m < num_moving(); ++m) {
    const int place = PlaceOf(state, m);
    if (place >= kWhole) continue;
    view.local[place] /= Size(m);
    ++view.count[place];
  }
  view.local_bytes = problem_.element_bytes;
  for (int d = 0; d < num_dims(); ++d) view.local_bytes *= view.local[d];
  return view;
}

void Search::Relax(const View& view, const Edge& edge, State next, int64_t group_size) {
  const bool is_slice = edge.kind == ReshardKind::kSlice;
  const Edge& last = view.node->edge;
  const bool joins = last.moving >= 0 && last.kind == edge.kind && last.dim == edge.dim &&
                     last.to_dim == edge.to_dim && last.fabric == edge.fabric;
  const int64_t charge = joins ? 0 : is_slice ? kSliceCharge : kCollectiveCharge;
  const int64_t bytes = ReshardBytes(edge.kind, view.local_bytes, group_size);
  const int64_t weight = edge.fabric == Fabric::kDcn ? kDcnWeight : 1;
  const int64_t cost = view.node->cost + bytes * weight * kCostPerByte + charge;
  const auto [it, inserted] = nodes_.try_emplace(next);
  Node& node = it->second;
  if (!inserted && (node.settled || node.cost <= cost)) return;
  node.cost = cost;
  node.previous = view.state;
  node.edge = edge;
  queue_.emplace(cost, next);
}

void Search::Expand(const View& view) {
  for (int m = 0; m < num_moving(); ++m) {
    const int place = PlaceOf(view.state, m);
    const int8_t moving = static_cast<int8_t>(m);
    if (place == kPartial) {
      Relax(view, {ReshardKind::kAllReduce, moving, -1, -1, FabricOf(m)},
            WithPlace(view.state, m, kWhole, 0), Size(m));
    }
    if (place >= kWhole) {
      if (!ends_split_[m] && !(detour_[m] && place == kPartial)) continue;
      for (int d = 0; d < num_dims(); ++d) {
        if (view.local[d] % Size(m) != 0) continue;
        const bool slice = place == kWhole;
        Relax(view,
              {slice ? ReshardKind::kSlice : ReshardKind::kReduceScatter, moving,
               static_cast<int8_t>(d), -1, slice ? Fabric::kIci : FabricOf(m)},
              WithPlace(view.state, m, d, view.count[d]), Size(m));
      }
      continue;
    }
    if (PositionOf(view.state, m) + 1 == view.count[place]) {
      Relax(view, {ReshardKind::kAllGather, moving, static_cast<int8_t>(place), -1, FabricOf(m)},
            WithPlace(view.state, m, kWhole, 0), Size(m));
    }
    ExpandAllToAll(view, m);
  }
}

// Moves axis `moving` and those after it in its dim to the end of every other dim, if all are of
// one fabric.
void Search::ExpandAllToAll(const View& view, int moving) {
  const int place = PlaceOf(view.state, moving);
  const int first = PositionOf(view.state, moving);
  int64_t group_size = 1;
  for (int m = 0; m < num_moving(); ++m) {
    if (PlaceOf(view.state, m) != place || PositionOf(view.state, m) < first) continue;
    if (!ends_split_[m] || FabricOf(m) != FabricOf(moving)) return;
    group_size *= Size(m);
  }
  for (int d = 0; d < num_dims(); ++d) {
    if (d == place || view.local[d] % group_size != 0) continue;
    State next = view.state;
    for (int m = 0; m < num_moving(); ++m) {
      const int position = PositionOf(view.state, m);
      if (PlaceOf(view.state, m) != place || position < first) continue;
      next = WithPlace(next, m, d, view.count[d] + position - first);
    }
    Relax(view,
          {ReshardKind::kAllToAll, static_cast<int8_t>(moving), static_cast<int8_t>(place),
           static_cast<int8_t>(d), FabricOf(moving)},
          next, group_size);
  }
}

std::vector<ReshardAction> Search::PathTo(State goal) const {
  std::vector<ReshardAction> path;
  for (const Node* node = &nodes_.at(goal); node->edge.moving >= 0;) {
    const State before = node->previous;
    const Edge& edge = node->edge;
    ReshardAction action{edge.kind, {}, edge.dim, edge.to_dim};
    std::vector<std::pair<int, int>> moved = {{PositionOf(before, edge.moving), edge.moving}};
    for (int m = 0; m < num_moving() && edge.kind == ReshardKind::kAllToAll; ++m) {
      if (PlaceOf(before, m) == edge.dim && PositionOf(before, m) > moved[0].first) {
        moved.emplace_back(PositionOf(before, m), m);
      }
    }
    std::sort(moved.begin(), moved.end());
    for (const auto& [position, m] : moved) action.axes.push_back(moving_[m]);
    path.push_back(std::move(action));
    node = &nodes_.at(before);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

StatusOr<std::vector<ReshardAction>> Search::Run() {
  FindMovingAxes();
  if (num_moving() > kMaxMoving || num_dims() > kMaxDims) {
    return InvalidArgument("a reshard of " + std::to_string(num_dims()) + " dims moves " +
                           std::to_string(num_moving()) + " mesh axes at once; at most " +
                           std::to_string(kMaxDims) + " dims and " + std::to_string(kMaxMoving) +
                           " axes are planned: reshard in two parts or use fewer axes");
  }
  const State start = Encode(problem_.from);
  const State goal = Encode(problem_.to);
  nodes_.reserve(1024);
  nodes_[start];
  queue_.emplace(0, start);
  while (!queue_.empty()) {
    const auto [cost, state] = queue_.top();
    queue_.pop();
    if (state == goal) return PathTo(goal);
    Node& node = nodes_.at(state);
    if (node.settled) continue;
    node.settled = true;
    Expand(Look(state, node));
  }
  CHECK(false) << "gather, reduce and slice reach every sharding";
  return Internal("unreachable");
}

}  // namespace

int64_t ReshardBytes(ReshardKind kind, int64_t local_bytes, int64_t group_size) {
  switch (kind) {
    case ReshardKind::kSlice:
      return 0;
    case ReshardKind::kAllGather:
      return local_bytes * (group_size - 1);
    case ReshardKind::kReduceScatter:
    case ReshardKind::kAllToAll:
      return local_bytes / group_size * (group_size - 1);
    case ReshardKind::kAllReduce:
      return CeilDiv(2 * local_bytes * (group_size - 1), group_size);
  }
  return 0;
}

StatusOr<std::vector<ReshardAction>> SearchReshard(const Mesh& mesh,
                                                   const ReshardProblem& problem) {
  return Search(mesh, problem).Run();
}

}  // namespace trireme
