// The group is built by one thread; then every rank connects on its own thread.
#include "worker/comm/local_group.h"

#include <string>
#include <thread>
#include <utility>

#include "common/base/check.h"

namespace trireme {

std::string_view Name(Transport transport) {
  switch (transport) {
    case Transport::kShm:
      return "shm";
    case Transport::kTcp:
      return "tcp";
    case Transport::kMixed:
      return "mixed";
  }
  return "unknown";
}

StatusOr<std::unique_ptr<LocalGroup>> LocalGroup::Create(int32_t size, Transport transport,
                                                         const LocalGroupOptions& options) {
  CHECK(size >= 1) << size;
  for (const size_t given : {options.recorders.size(), options.slices.size()}) {
    CHECK(given == 0 || given == static_cast<size_t>(size)) << given << " for " << size;
  }
  std::unique_ptr<LocalGroup> group(new LocalGroup());
  group->options_ = options;
  const int32_t num_workers = transport == Transport::kShm   ? 1
                              : transport == Transport::kTcp ? size
                                                             : 2;
  std::vector<int32_t> ranks_of(num_workers);
  for (int32_t rank = 0; rank < size; ++rank) {
    const int32_t worker = rank % num_workers;
    ASSIGN_OR_RETURN(Listener listener, Listener::Bind());
    group->peers_.push_back({"worker-" + std::to_string(worker), listener.address(),
                             options.slices.empty() ? 0 : options.slices[rank]});
    group->listeners_.push_back(std::move(listener));
    group->worker_of_.push_back(worker);
    ++ranks_of[worker];
  }
  for (const int32_t num_local : ranks_of) {
    group->segments_.emplace_back();
    if (num_local < 2) continue;
    ASSIGN_OR_RETURN(group->segments_.back(), SharedSegment::Create(num_local, options.attempt));
  }
  return group;
}

SharedSegment* LocalGroup::segment_of(int32_t rank) { return segments_[worker_of_[rank]].get(); }

CommunicatorOptions LocalGroup::OptionsOf(int32_t rank) {
  CommunicatorOptions result;
  result.rank = rank;
  result.peers = peers_;
  result.listener = &listeners_[rank];
  if (segment_of(rank) != nullptr) result.shared_fd = segment_of(rank)->fd();
  result.attempt = options_.attempt;
  result.token = "local group";
  result.connect_deadline = options_.connect_deadline;
  result.call_deadline = options_.call_deadline;
  result.ici = options_.ici;
  result.dcn = options_.dcn;
  if (!options_.recorders.empty()) result.recorder = options_.recorders[rank];
  return result;
}

std::vector<Status> RunRanks(int32_t size, Transport transport, const RankFunction& function,
                             const LocalGroupOptions& options) {
  auto group = LocalGroup::Create(size, transport, options);
  if (!group.ok()) return std::vector<Status>(size, group.status());
  std::vector<Status> results(size);
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto communicator = Connect((*group)->OptionsOf(rank));
      results[rank] = communicator.ok() ? function(**communicator) : communicator.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace trireme
