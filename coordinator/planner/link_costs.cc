// Without limits every rank has its own link and the closed forms are all there is. With limits the
// messages of all ranks that send at the same time are listed and added up by pair of workers.
#include "coordinator/planner/link_costs.h"

#include <algorithm>
#include <functional>
#include <set>

#include "common/plan/resolve.h"
#include "coordinator/planner/summary.h"

namespace trireme {
namespace {

constexpr int64_t kSmallCallBytes = 16 << 10;  // see worker/comm/README.md

double Inverse(double bytes_per_s) { return bytes_per_s > 0 ? 1 / bytes_per_s : 0; }

int64_t WholeBytes(const Instruction& instruction) {
  const auto bytes = [](const View& view) { return view.count() * SizeOf(view.dtype); };
  return std::max(bytes(instruction.in[0]), bytes(instruction.out[0]));
}

}  // namespace

LinkCosts::LinkCosts(Mesh mesh, const Topology& topology, const NetworkSpec& network,
                     int stage_axis)
    : mesh_(std::move(mesh)),
      stage_axis_(stage_axis),
      links_{topology.device.ici, topology.device.dcn} {
  const LinkLimit* const limits[] = {&network.ici, &network.dcn};
  for (const int fabric : {0, 1}) {
    if (topology.device.name != "cpu") continue;
    limits_[fabric] = {limits[fabric]->mbit_per_s * 1e6 / 8, limits[fabric]->latency_ms * 1e-3};
    limited_ = limited_ || limits_[fabric].bytes_per_s > 0 || limits_[fabric].latency_s > 0;
  }
  for (const Host& host : topology.hosts) {
    const auto index = static_cast<int32_t>(slice_of_host_.size());
    slice_of_host_.push_back(host.slice);
    host_of_rank_.insert(host_of_rank_.end(), host.devices, index);
  }
}

LinkCosts::Hop LinkCosts::HopOf(int64_t from, int64_t to) const {
  const int32_t a = host_of_rank_[from];
  const int32_t b = host_of_rank_[to];
  if (a == b) return {links_[0], {}};
  const int fabric = slice_of_host_[a] == slice_of_host_[b] ? 0 : 1;
  return {links_[fabric], limits_[fabric]};
}

std::vector<LinkCosts::Edge> LinkCosts::EdgesOf(Way way, int64_t shift,
                                                const std::vector<int32_t>& ranks) {
  const size_t n = ranks.size();
  std::vector<Edge> edges;
  for (size_t i = 0; i < n; ++i) {
    if (way == Way::kEachToEach || way == Way::kAtOnce) {
      for (size_t j = 0; j < n; ++j) {
        if (i != j) edges.push_back({ranks[i], ranks[j], 1.0 / static_cast<double>(n - 1)});
      }
    } else {
      const size_t step = way == Way::kShift ? static_cast<size_t>(shift) : 1;
      edges.push_back({ranks[i], ranks[(i + step) % n], 1});
    }
  }
  return edges;
}

TransferCost LinkCosts::ClosedForm(Way way, int64_t n, Fabric fabric) const {
  const LinkSpeed& link = links_[static_cast<int>(fabric)];
  double hops = static_cast<double>(n - 1);
  if (way == Way::kRingTwice) hops *= 2;
  if (way == Way::kShift || way == Way::kAtOnce) hops = 1;
  return {hops * link.latency_s, Inverse(link.bytes_per_s)};
}

std::vector<int64_t> LinkCosts::RanksBeside(const Group& group, int32_t stage) const {
  const bool over_stages =
      std::find(group.axes.begin(), group.axes.end(), stage_axis_) != group.axes.end();
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < mesh_.num_ranks(); ++rank) {
    if (stage_axis_ < 0 || over_stages || mesh_.Coordinates(rank)[stage_axis_] == stage) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

double LinkCosts::SecondsPerByte(const std::vector<Edge>& edges,
                                 const std::vector<Edge>& all) const {
  std::map<std::pair<int32_t, int32_t>, double> of_pair;
  for (const Edge& edge : all) {
    of_pair[{host_of_rank_[edge.from], host_of_rank_[edge.to]}] += edge.share;
  }
  std::map<int64_t, double> of_sender;
  double slowest = 0;
  for (const Edge& edge : edges) {
    const Hop hop = HopOf(edge.from, edge.to);
    double& own = of_sender[edge.from];
    own += edge.share * Inverse(hop.link.bytes_per_s);
    const double pair = of_pair[{host_of_rank_[edge.from], host_of_rank_[edge.to]}];
    slowest = std::max({slowest, own, pair * Inverse(hop.limit.bytes_per_s)});
  }
  return slowest;
}

double LinkCosts::Latency(Way way, const std::vector<Edge>& edges, int64_t n) const {
  std::vector<double> hops;
  double base = 0;
  double limit = 0;
  for (const Edge& edge : edges) {
    const Hop hop = HopOf(edge.from, edge.to);
    hops.push_back(hop.link.latency_s + hop.limit.latency_s);
    base = std::max(base, hop.link.latency_s);
    limit = std::max(limit, hop.limit.latency_s);
  }
  // A block that goes around the ring passes all hops but one; the slowest block leaves out the
  // fastest.
  if (way == Way::kRing || way == Way::kRingTwice) {
    std::sort(hops.begin(), hops.end(), std::greater<>());
    double sum = 0;
    for (int64_t i = 0; i + 1 < n; ++i) sum += hops[i];
    return way == Way::kRing ? sum : 2 * sum;
  }
  if (way == Way::kEachToEach) return static_cast<double>(n - 1) * base + limit;
  return hops.empty() ? 0 : *std::max_element(hops.begin(), hops.end());
}

bool LinkCosts::MeetsLimit(const std::vector<Group>& groups, int32_t group, int32_t stage) {
  if (!limited_) return false;
  const auto [it, is_new] = meets_limit_.try_emplace({stage, group}, false);
  if (!is_new) return it->second;
  const std::vector<int64_t> ranks = RanksBeside(groups[group], stage);
  for (const Edge& edge :
       EdgesOf(Way::kRing, 0, GroupRanksOf(groups[group], mesh_, ranks.front()))) {
    const Limit limit = HopOf(edge.from, edge.to).limit;
    it->second = it->second || limit.bytes_per_s > 0 || limit.latency_s > 0;
  }
  return it->second;
}

TransferCost LinkCosts::Limited(Way way, int64_t shift, const Group& group, int32_t stage) const {
  std::vector<Edge> all;
  std::vector<Edge> own;
  std::set<int64_t> seen;
  int64_t n = 0;
  for (const int64_t rank : RanksBeside(group, stage)) {
    if (seen.count(rank) > 0) continue;
    const std::vector<int32_t> ranks = GroupRanksOf(group, mesh_, rank);
    seen.insert(ranks.begin(), ranks.end());
    const std::vector<Edge> edges = EdgesOf(way, shift, ranks);
    all.insert(all.end(), edges.begin(), edges.end());
    if (own.empty()) {
      own = edges;
      n = static_cast<int64_t>(ranks.size());
    }
  }
  return {Latency(way, own, n), SecondsPerByte(own, all)};
}

double LinkCosts::CollectiveSeconds(int32_t stage, const std::vector<Group>& groups,
                                    const Instruction& instruction) {
  const Group& group = groups[instruction.group];
  const int64_t n = GroupSize(group, mesh_);
  if (n <= 1) return 0;
  int64_t bytes = CollectiveBytes(mesh_, group, instruction);
  int64_t shift = 0;
  const bool limited = MeetsLimit(groups, instruction.group, stage);
  Way way = Way::kRing;
  if (instruction.op == kAllReduceOp) way = Way::kRingTwice;
  if (instruction.op == kAllToAllOp) way = Way::kEachToEach;
  if (instruction.op == kPermuteOp) {
    way = Way::kShift;
    shift = ((instruction.attrs.GetInt("shift") % n) + n) % n;
  } else if (limited && WholeBytes(instruction) <= kSmallCallBytes) {
    way = Way::kAtOnce;
    if (instruction.op == kAllReduceOp) bytes = (n - 1) * WholeBytes(instruction);
  }
  if (!limited) return ClosedForm(way, n, group.fabric).Seconds(bytes);
  const auto [it, is_new] =
      known_.try_emplace({stage, instruction.group, way, shift}, TransferCost{});
  if (is_new) it->second = Limited(way, shift, group, stage);
  return it->second.Seconds(bytes);
}

TransferCost LinkCosts::BetweenStages(int32_t from, int32_t to) const {
  if (stage_axis_ < 0 || from == to) return {};
  if (!limited_) return ClosedForm(Way::kShift, 2, mesh_.axis(stage_axis_).fabric);
  std::vector<Edge> edges;
  for (int64_t rank = 0; rank < mesh_.num_ranks(); ++rank) {
    std::vector<int64_t> coordinates = mesh_.Coordinates(rank);
    if (coordinates[stage_axis_] != from) continue;
    coordinates[stage_axis_] = to;
    edges.push_back({rank, mesh_.RankOf(coordinates), 1});
  }
  return {Latency(Way::kShift, edges, 2), SecondsPerByte(edges, edges)};
}

}  // namespace trireme
