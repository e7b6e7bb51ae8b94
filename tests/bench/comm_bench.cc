// Times the CPU communicator, ranks as forked processes. Over TCP loopback each call runs in turn
// with a plain send/recv loop that moves as many bytes between the same processes, so the ratio
// says what the communicator costs; then all_reduce over shared memory, and a transfer over a
// limited link. Usage: comm_bench [num_ranks=2]. Times are of one call, from batches of calls.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "worker/comm/local_group.h"

namespace trireme {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatches = 11;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Plain TCP around a ring of processes: what the communicator is measured against.
class RawRing {
 public:
  // Before the fork. Errors end the program: there is nothing to measure then.
  explicit RawRing(int32_t size) {
    for (int32_t i = 0; i < size; ++i) {
      const int listener = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t length = sizeof(address);
      auto* generic = reinterpret_cast<sockaddr*>(&address);
      const int to = socket(AF_INET, SOCK_STREAM, 0);
      if (bind(listener, generic, length) != 0 || listen(listener, 1) != 0 ||
          getsockname(listener, generic, &length) != 0 || connect(to, generic, length) != 0) {
        perror("raw ring");
        exit(1);
      }
      const int from = accept(listener, nullptr, nullptr);
      close(listener);
      const int on = 1;
      setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      to_next_.push_back(to);
      from_previous_.push_back(from);
    }
    std::rotate(from_previous_.begin(), from_previous_.end() - 1, from_previous_.end());
  }

  // Sends `out` bytes to the next rank and receives `in` from the previous one, both at once.
  void Move(int32_t rank, const char* data, int64_t out, char* buffer, int64_t in) const {
    while (out > 0 || in > 0) {
      bool moved = false;
      if (out > 0) {
        const ssize_t sent = send(to_next_[rank], data, out, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
          data += sent;
          out -= sent;
          moved = true;
        }
      }
      if (in > 0) {
        const ssize_t got = recv(from_previous_[rank], buffer, in, MSG_DONTWAIT);
        if (got > 0) {
          buffer += got;
          in -= got;
          moved = true;
        }
      }
      if (moved) continue;
      pollfd entries[2] = {{out > 0 ? to_next_[rank] : -1, POLLOUT, 0},
                           {in > 0 ? from_previous_[rank] : -1, POLLIN, 0}};
      poll(entries, 2, -1);
    }
  }

 private:
  std::vector<int> to_next_, from_previous_;  // index = rank
};

struct Times {
  double best = 0, median = 0;  // seconds
};

Times Summary(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {seconds.front(), seconds[seconds.size() / 2]};
}

class Bench {
 public:
  Bench(Communicator& comm, const RawRing& raw)
      : comm_(comm), raw_(raw), n_(comm.size()), world_{0, std::vector<int32_t>(comm.size())} {
    std::iota(world_.ranks.begin(), world_.ranks.end(), 0);
  }

  // `bytes` is the whole tensor.
  Status Run(int64_t bytes) {
    const int calls = bytes >= 16 << 20 ? 2 : 40;
    const int64_t count = bytes / 4 / n_ * n_;
    std::vector<float> tensor(count, 1.0f), other(count);
    char* from = reinterpret_cast<char*>(tensor.data());
    char* to = reinterpret_cast<char*>(other.data());
    const int32_t next = (comm_.rank() + 1) % n_, previous = (comm_.rank() + n_ - 1) % n_;
    const int64_t out = comm_.rank() == 0 ? bytes : 0, in = comm_.rank() == 1 ? bytes : 0;
    RETURN_IF_ERROR(Compare("send", bytes, calls, out, in, [&] {
      return comm_.Exchange(
          out > 0 ? std::vector<PeerMessage>{{1, 0, from, out}} : std::vector<PeerMessage>{},
          in > 0 ? std::vector<PeerMessage>{{0, 0, to, in}} : std::vector<PeerMessage>{});
    }));
    RETURN_IF_ERROR(Compare("permute", bytes, calls, bytes, bytes, [&] {
      return comm_.Exchange({{next, 0, from, bytes}}, {{previous, 0, to, bytes}});
    }));
    const int64_t block = count / n_, moved = 4 * block * (n_ - 1);
    RETURN_IF_ERROR(Compare("all_gather", bytes, calls, moved, moved, [&] {
      return comm_.AllGather(world_, DType::kFloat32, {to + 4 * block * comm_.rank(), block},
                             {to, count});
    }));
    RETURN_IF_ERROR(Compare("reduce_scatter", bytes, calls, moved, moved, [&] {
      return comm_.ReduceScatter(world_, DType::kFloat32, ReduceKind::kSum, {from, count},
                                 {to, block});
    }));
    std::fill(tensor.begin(), tensor.end(), 0.0f);
    return Compare("all_reduce", bytes, calls, 2 * moved, 2 * moved, [&] {
      return comm_.AllReduce(world_, DType::kFloat32, ReduceKind::kSum, {from, count});
    });
  }

 private:
  // Batches of `call` and of the plain loop by turns.
  Status Compare(const char* name, int64_t bytes, int calls, int64_t out, int64_t in,
                 const std::function<Status()>& call) {
    scratch_.resize(std::max<size_t>(scratch_.size(), 2 * std::max(out, in)));
    char* buffer = scratch_.data() + scratch_.size() / 2;
    std::vector<double> ours, plain;
    for (int batch = 0; batch < kBatches + 1; ++batch) {
      RETURN_IF_ERROR(comm_.Barrier(world_));
      auto begin = Clock::now();
      for (int i = 0; i < calls; ++i) RETURN_IF_ERROR(call());
      RETURN_IF_ERROR(comm_.Barrier(world_));
      if (batch > 0) ours.push_back(Since(begin) / calls);
      RETURN_IF_ERROR(comm_.Barrier(world_));
      begin = Clock::now();
      for (int i = 0; i < calls; ++i) raw_.Move(comm_.rank(), scratch_.data(), out, buffer, in);
      RETURN_IF_ERROR(comm_.Barrier(world_));
      if (batch > 0) plain.push_back(Since(begin) / calls);
    }
    if (comm_.rank() != 0) return {};
    const Times a = Summary(ours), b = Summary(plain);
    printf(
        "%-14s tcp n=%d bytes=%-9lld best_us=%-9.1f median_us=%-9.1f plain best_us=%-9.1f "
        "median_us=%-9.1f sent_gb_per_s=%.2f ratio best=%.2f median=%.2f\n",
        name, n_, static_cast<long long>(bytes), 1e6 * a.best, 1e6 * a.median, 1e6 * b.best,
        1e6 * b.median, 1e-9 * static_cast<double>(out) / a.median, b.best / a.best,
        b.median / a.median);
    fflush(stdout);
    return {};
  }

  Communicator& comm_;
  const RawRing& raw_;
  int32_t n_;
  GroupRanks world_;
  std::vector<char> scratch_;
};

Status TimeShared(Communicator& comm, int64_t bytes, int rounds) {
  GroupRanks world{0, std::vector<int32_t>(comm.size())};
  std::iota(world.ranks.begin(), world.ranks.end(), 0);
  std::vector<float> data(bytes / 4, 0.0f);
  std::vector<double> seconds;
  for (int i = 0; i < rounds + 2; ++i) {
    RETURN_IF_ERROR(comm.Barrier(world));
    const auto begin = Clock::now();
    RETURN_IF_ERROR(comm.AllReduce(world, DType::kFloat32, ReduceKind::kSum,
                                   {data.data(), static_cast<int64_t>(data.size())}));
    if (i >= 2) seconds.push_back(Since(begin));
  }
  if (comm.rank() != 0) return {};
  const Times times = Summary(seconds);
  printf("all_reduce     shm n=%d bytes=%-9lld best_us=%-9.1f median_us=%.1f\n", comm.size(),
         static_cast<long long>(bytes), 1e6 * times.best, 1e6 * times.median);
  fflush(stdout);
  return {};
}

// 10 MB at 100 Mbit/s: 0.8 s.
Status TimeLimited(Communicator& comm) {
  std::vector<char> data(10000000);
  const int64_t bytes = static_cast<int64_t>(data.size());
  RETURN_IF_ERROR(comm.Barrier({1, {0, 1}}));
  const auto begin = Clock::now();
  if (comm.rank() == 0) return comm.Exchange({{1, 0, data.data(), bytes}}, {});
  RETURN_IF_ERROR(comm.Exchange({}, {{0, 0, data.data(), bytes}}));
  printf("limited        tcp 10 MB at 100 Mbit/s: %.4f s\n", Since(begin));
  fflush(stdout);
  return {};
}

// Forks the ranks and waits for them; the number that failed.
int RunForked(int32_t num_ranks, Transport transport, const LocalGroupOptions& options,
              const std::function<Status(Communicator&)>& body) {
  auto group = LocalGroup::Create(num_ranks, transport, options);
  if (!group.ok()) return 1;
  std::vector<pid_t> children;
  for (int32_t rank = 0; rank < num_ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      auto comm = Connect((*group)->OptionsOf(rank));
      const Status status = comm.ok() ? body(**comm) : comm.status();
      if (!status.ok()) fprintf(stderr, "rank %d: %s\n", rank, status.ToString().c_str());
      _exit(status.ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  int failures = 0;
  for (const pid_t child : children) {
    int state = 0;
    failures += waitpid(child, &state, 0) != child || state != 0;
  }
  return failures;
}

int Main(int32_t num_ranks) {
  const RawRing raw(num_ranks);
  int failures = RunForked(num_ranks, Transport::kTcp, {}, [&](Communicator& comm) -> Status {
    Bench bench(comm, raw);
    RETURN_IF_ERROR(bench.Run(1 << 20));
    return bench.Run(64 << 20);
  });
  failures += RunForked(num_ranks, Transport::kShm, {}, [&](Communicator& comm) -> Status {
    RETURN_IF_ERROR(TimeShared(comm, 4 << 10, 2000));
    RETURN_IF_ERROR(TimeShared(comm, 1 << 20, 200));
    return TimeShared(comm, 64 << 20, 15);
  });
  failures += RunForked(2, Transport::kTcp, {.ici = {.bytes_per_s = 100e6 / 8}}, TimeLimited);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) { return trireme::Main(argc > 1 ? atoi(argv[1]) : 2); }
