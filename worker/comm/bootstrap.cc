// First call the lower ranks, then take the calls of the higher ones. No cycle of waiting can
// arise, because a rank that calls waits only for lower ranks, and rank 0 calls nobody.
#include "worker/comm/bootstrap.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "worker/comm/cpu_communicator.h"
#include "worker/comm/hello.h"
#include "worker/comm/shm_link.h"
#include "worker/comm/tcp_link.h"

namespace trireme {
namespace {

// Strangers may connect too; more than these at once are turned away.
constexpr size_t kMaxCallers = 256;

struct Sockets {
  OwnedFd data, abort;
  bool complete() const { return data.get() >= 0 && abort.get() >= 0; }
  OwnedFd& of(Channel channel) { return channel == Channel::kData ? data : abort; }
};

StatusOr<OwnedFd> CallPeer(const HelloPolicy& own, int32_t peer, const std::string& address,
                           Channel channel, Deadline deadline) {
  ASSIGN_OR_RETURN(OwnedFd fd, Dial(address, deadline));
  const Hello hello = MakeHello(own, peer, channel);
  RETURN_IF_ERROR(SendAll(fd.get(), &hello, sizeof(hello), deadline));
  HelloReply reply;
  RETURN_IF_ERROR(RecvAll(fd.get(), &reply, sizeof(reply), deadline));
  RETURN_IF_ERROR(CheckReply(reply));
  return fd;
}

// Takes the calls of the higher ranks `expected`; whoever else calls is told why not and forgotten.
class Reception {
 public:
  Reception(const HelloPolicy& own, Listener* listener, std::map<int32_t, Sockets>* expected)
      : own_(own), listener_(listener), expected_(expected) {}

  Status Run(Deadline deadline, std::chrono::milliseconds limit) {
    while (!Complete()) {
      std::vector<pollfd> entries = {{listener_->fd(), POLLIN, 0}};
      for (const Caller& caller : callers_) entries.push_back({caller.fd.get(), POLLIN, 0});
      const int left = MillisecondsLeft(deadline);
      if (left == 0) return Late(limit);
      poll(entries.data(), entries.size(), left);
      for (size_t i = callers_.size(); i-- > 0;) {
        if (entries[i + 1].revents != 0 && Listen(&callers_[i])) {
          callers_.erase(callers_.begin() + static_cast<int64_t>(i));
        }
      }
      if (entries[0].revents != 0) Accept();
    }
    return {};
  }

 private:
  struct Caller {
    OwnedFd fd;
    Hello hello;
    size_t received = 0;
  };

  bool Complete() const {
    return std::all_of(expected_->begin(), expected_->end(),
                       [](const auto& entry) { return entry.second.complete(); });
  }

  void Accept() {
    OwnedFd fd = listener_->TryAccept();
    if (fd.get() < 0) return;
    if (callers_.size() >= kMaxCallers) callers_.erase(callers_.begin());
    Caller caller{std::move(fd), Hello(), 0};
    if (!Listen(&caller)) callers_.push_back(std::move(caller));
  }

  // Reads what the caller says; true when it is dealt with.
  bool Listen(Caller* caller) {
    char* at = reinterpret_cast<char*>(&caller->hello) + caller->received;
    const ssize_t got = recv(caller->fd.get(), at, sizeof(Hello) - caller->received, MSG_DONTWAIT);
    if (got <= 0) return got == 0 || (errno != EAGAIN && errno != EINTR);
    caller->received += got;
    if (caller->received < sizeof(Hello)) return false;
    Status status = CheckHello(own_, caller->hello);
    const auto expected = expected_->find(caller->hello.from);
    if (status.ok() &&
        (expected == expected_->end() || expected->second.of(caller->hello.channel).get() >= 0)) {
      status = FailedPrecondition("rank " + std::to_string(caller->hello.from) +
                                  " is connected already or shares memory with this rank");
    }
    const HelloReply reply = MakeReply(status);
    // Its buffer is empty, so this does not wait; if the caller is gone again, its next call
    // counts.
    const bool sent = send(caller->fd.get(), &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                      static_cast<ssize_t>(sizeof(reply));
    if (!status.ok()) {
      refused_ = std::string(ToStd(status.message()));
    } else if (sent) {
      expected->second.of(caller->hello.channel) = std::move(caller->fd);
    }
    return true;
  }

  Status Late(std::chrono::milliseconds limit) const {
    std::vector<int32_t> missing;
    for (const auto& [rank, sockets] : *expected_) {
      if (!sockets.complete()) missing.push_back(rank);
    }
    std::ostringstream out;
    out << "rank " << own_.rank << " waited " << limit.count() << " ms for " << RanksText(missing)
        << " to connect to " << listener_->address();
    if (!refused_.empty()) out << "; refused meanwhile: " << refused_;
    return DeadlineExceeded(out.str());
  }

  HelloPolicy own_;
  Listener* listener_;
  std::map<int32_t, Sockets>* expected_;
  std::vector<Caller> callers_;
  std::string refused_;
};

Status CheckOptions(const CommunicatorOptions& options) {
  std::ostringstream out;
  if (options.rank < 0 || options.rank >= static_cast<int32_t>(options.peers.size())) {
    out << "rank " << options.rank << " of " << options.peers.size() << " peers";
    return InvalidArgument(out.str());
  }
  if (options.token.size() > kMaxTokenBytes) {
    out << "the token has " << options.token.size() << " bytes, at most " << kMaxTokenBytes;
    return InvalidArgument(out.str());
  }
  for (const FabricLimit& limit : {options.ici, options.dcn}) {
    if (limit.bytes_per_s >= 0 && limit.latency_s >= 0) continue;
    out << "a limit of " << limit.bytes_per_s << " bytes/s with a latency of " << limit.latency_s
        << " s; neither may be negative, 0 is none";
    return InvalidArgument(out.str());
  }
  return {};
}

// The ranks on this rank's worker, in rank order.
std::vector<int32_t> LocalRanks(const CommunicatorOptions& options) {
  std::vector<int32_t> ranks;
  for (int32_t i = 0; i < static_cast<int32_t>(options.peers.size()); ++i) {
    if (options.peers[i].worker == options.peers[options.rank].worker) ranks.push_back(i);
  }
  return ranks;
}

Status OpenShared(const CommunicatorOptions& options, const std::vector<int32_t>& local,
                  CpuCommunicatorParts* parts) {
  const int32_t num_local = static_cast<int32_t>(local.size());
  if (options.shared_path.empty() && options.shared_fd < 0) {
    return InvalidArgument(RanksText(local) + " are on worker '" +
                           options.peers[options.rank].worker +
                           "', but no shared segment was given; set shared_fd or shared_path");
  }
  ASSIGN_OR_RETURN(parts->segment,
                   options.shared_path.empty()
                       ? SharedSegment::Open(options.shared_fd, num_local, options.attempt)
                       : SharedSegment::OpenPath(options.shared_path, num_local, options.attempt));
  for (int32_t i = 0; i < num_local; ++i) {
    if (local[i] == options.rank) parts->local_rank = i;
  }
  for (int32_t i = 0; i < num_local; ++i) {
    if (local[i] == options.rank) continue;
    parts->links[local[i]] =
        std::make_unique<ShmLink>(parts->segment.get(), parts->local_rank, i, local[i]);
  }
  return {};
}

Status ConnectRemote(const CommunicatorOptions& options, CpuCommunicatorParts* parts) {
  const HelloPolicy own{options.attempt, options.rank, static_cast<int32_t>(options.peers.size()),
                        options.token};
  const Deadline deadline = std::chrono::steady_clock::now() + options.connect_deadline;
  std::map<int32_t, Sockets> lower, higher;
  for (int32_t peer = 0; peer < own.size; ++peer) {
    if (options.peers[peer].worker == options.peers[options.rank].worker) continue;
    (peer < options.rank ? lower : higher)[peer];
  }
  for (auto& [peer, sockets] : lower) {
    for (const Channel channel : {Channel::kData, Channel::kAbort}) {
      const std::string& address = options.peers[peer].address;
      auto fd = CallPeer(own, peer, address, channel, deadline);
      if (!fd.ok()) {
        std::ostringstream out;
        out << "rank " << own.rank << " calling rank " << peer << " at " << address;
        return Annotate(fd.status(), out.str());
      }
      sockets.of(channel) = *std::move(fd);
    }
  }
  if (!higher.empty()) {
    if (options.listener == nullptr) {
      return InvalidArgument("higher ranks on other workers connect to this one; set listener");
    }
    RETURN_IF_ERROR(
        Reception(own, options.listener, &higher).Run(deadline, options.connect_deadline));
  }
  for (auto* side : {&lower, &higher}) {
    for (auto& [peer, sockets] : *side) {
      parts->links[peer] =
          std::make_unique<TcpLink>(sockets.data.release(), sockets.abort.release(), peer);
    }
  }
  return {};
}

// Workers are numbered in the order of their names, alike on all ranks.
void AddRoutes(const CommunicatorOptions& options, CpuCommunicatorParts* parts) {
  std::map<std::string, int32_t> workers;
  for (const PeerInfo& peer : options.peers) workers[peer.worker] = 0;
  int32_t num_workers = 0;
  for (auto& [name, number] : workers) number = num_workers++;
  if (parts->segment == nullptr) {
    parts->buckets = std::make_unique<std::atomic<int64_t>[]>(num_workers);
  }
  const PeerInfo& own = options.peers[options.rank];
  for (const PeerInfo& peer : options.peers) {
    Route& route = parts->routes.emplace_back();
    route.worker = workers[peer.worker];
    route.other_slice = peer.slice != own.slice;
    const FabricLimit& limit = route.other_slice ? options.dcn : options.ici;
    if (peer.worker == own.worker || limit.none()) continue;
    route.pacer = std::make_unique<Pacer>(limit, parts->segment != nullptr
                                                     ? parts->segment->bucket(route.worker)
                                                     : &parts->buckets[route.worker]);
  }
}

}  // namespace

StatusOr<std::unique_ptr<Communicator>> Connect(const CommunicatorOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  CpuCommunicatorParts parts;
  parts.rank = options.rank;
  parts.links.resize(options.peers.size());
  parts.call_deadline = options.call_deadline;
  parts.recorder = options.recorder;
  const std::vector<int32_t> local = LocalRanks(options);
  if (local.size() > 1) RETURN_IF_ERROR(OpenShared(options, local, &parts));
  AddRoutes(options, &parts);
  RETURN_IF_ERROR(ConnectRemote(options, &parts));
  return std::unique_ptr<Communicator>(std::make_unique<CpuCommunicator>(std::move(parts)));
}

}  // namespace trireme
