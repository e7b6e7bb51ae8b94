// What transfers between ranks cost: closed forms of rings over the links of a device kind, and,
// where the job limits the links between workers, how the ranks of a worker share them.
#ifndef TRIREME_COORDINATOR_PLANNER_LINK_COSTS_H_
#define TRIREME_COORDINATOR_PLANNER_LINK_COSTS_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "common/config/fleet.h"
#include "common/config/job_spec.h"
#include "common/mesh/mesh.h"
#include "common/plan/program.h"

namespace trireme {

// Of a transfer in which every rank sends some bytes.
struct TransferCost {
  double latency_s = 0;
  double s_per_byte = 0;
  double Seconds(int64_t bytes) const {
    return latency_s + static_cast<double>(bytes) * s_per_byte;
  }
};

// n ranks, S bytes of the whole tensor, latency a, bandwidth W of a rank in one direction:
//   all_gather, reduce_scatter, all_to_all   (n-1) a + (n-1)/n S/W
//   all_reduce                               twice that
//   permute, stage to stage                  a + S/W, S the bytes of a rank
// Sources: Thakur, Rabenseifner, Gropp 2005 (rings); worker/comm/README.md for what limits do.
//
// Limits of `network` hold on kind cpu, for what one worker sends to another: all ranks of the
// worker that send at once share them, and ranks of one worker never meet them. They add their
// latency to each hop; in calls of at most 16 KiB everybody sends to everybody at once, so that it
// counts once.
class LinkCosts {
 public:
  // `stage_axis` -1 = none. Borrows nothing. The ranks of `mesh` are the devices of `topology`, in
  // order.
  LinkCosts(Mesh mesh, const Topology& topology, const NetworkSpec& network, int stage_axis);

  // One call of a collective of a stage, in seconds; `groups` are those of the stage's program.
  double CollectiveSeconds(int32_t stage, const std::vector<Group>& groups,
                           const Instruction& instruction);

  // Every rank of stage `from` sends to its counterpart in stage `to`.
  TransferCost BetweenStages(int32_t from, int32_t to) const;

 private:
  enum class Way : uint8_t { kRing, kRingTwice, kEachToEach, kAtOnce, kShift };
  struct Edge {
    int64_t from = 0;
    int64_t to = 0;
    double share = 1;  // of the bytes that `from` sends
  };
  struct Limit {
    double bytes_per_s = 0;
    double latency_s = 0;
  };
  struct Hop {
    LinkSpeed link;
    Limit limit;
  };

  Hop HopOf(int64_t from, int64_t to) const;
  static std::vector<Edge> EdgesOf(Way way, int64_t shift, const std::vector<int32_t>& ranks);
  TransferCost ClosedForm(Way way, int64_t n, Fabric fabric) const;
  // Ranks that take part in collectives of a group at the same time.
  std::vector<int64_t> RanksBeside(const Group& group, int32_t stage) const;
  // Whether a ring of the group's ranks meets a limit.
  bool MeetsLimit(const std::vector<Group>& groups, int32_t group, int32_t stage);
  TransferCost Limited(Way way, int64_t shift, const Group& group, int32_t stage) const;
  // What `edges` cost when `all` (which holds them) are under way.
  double SecondsPerByte(const std::vector<Edge>& edges, const std::vector<Edge>& all) const;
  double Latency(Way way, const std::vector<Edge>& edges, int64_t n) const;

  Mesh mesh_;
  int stage_axis_;
  LinkSpeed links_[2];  // by fabric
  Limit limits_[2];
  bool limited_ = false;
  std::vector<int32_t> host_of_rank_;
  std::vector<int64_t> slice_of_host_;
  std::map<std::pair<int32_t, int32_t>, bool> meets_limit_;  // (stage, group)
  std::map<std::tuple<int32_t, int32_t, Way, int64_t>, TransferCost> known_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_LINK_COSTS_H_
