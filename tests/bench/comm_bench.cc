// Times all_reduce of the CPU communicator over shared memory and TCP loopback, ranks as forked
// processes, for 4 KB, 1 MB and 64 MB of float32. Usage: comm_bench [num_ranks=2]. Prints the
// median of the rounds and the bus bandwidth, 2 (n-1)/n * bytes / time.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "worker/comm/local_group.h"

namespace trireme {
namespace {

using Clock = std::chrono::steady_clock;

Status TimeAllReduce(Communicator& comm, Transport transport, int64_t bytes, int rounds) {
  GroupRanks world{0, std::vector<int32_t>(comm.size())};
  std::iota(world.ranks.begin(), world.ranks.end(), 0);
  std::vector<float> data(bytes / 4, 1.0f);
  std::vector<double> seconds;
  for (int i = 0; i < rounds + 2; ++i) {
    RETURN_IF_ERROR(comm.Barrier(world));
    const auto begin = Clock::now();
    RETURN_IF_ERROR(comm.AllReduce(world, DType::kFloat32, ReduceKind::kSum,
                                   {data.data(), static_cast<int64_t>(data.size())}));
    if (i >= 2) seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    std::fill(data.begin(), data.end(), 1.0f);
  }
  if (comm.rank() != 0) return {};
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const double bus = 2.0 * (comm.size() - 1) / comm.size() * static_cast<double>(bytes) / median;
  printf("all_reduce %s n=%d bytes=%lld median_us=%.1f min_us=%.1f p90_us=%.1f bus_gb_per_s=%.2f\n",
         std::string(Name(transport)).c_str(), comm.size(), static_cast<long long>(bytes),
         1e6 * median, 1e6 * seconds.front(), 1e6 * seconds[seconds.size() * 9 / 10], 1e-9 * bus);
  fflush(stdout);
  return {};
}

int RunRank(LocalGroup& group, int32_t rank, Transport transport) {
  auto comm = Connect(group.OptionsOf(rank));
  Status status = comm.status();
  if (status.ok()) status = TimeAllReduce(**comm, transport, 4 << 10, 2000);
  if (status.ok()) status = TimeAllReduce(**comm, transport, 1 << 20, 200);
  if (status.ok()) status = TimeAllReduce(**comm, transport, 64 << 20, 15);
  if (!status.ok()) fprintf(stderr, "rank %d: %s\n", rank, status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

int Main(int32_t num_ranks) {
  int failures = 0;
  for (const Transport transport : {Transport::kShm, Transport::kTcp}) {
    auto group = LocalGroup::Create(num_ranks, transport);
    if (!group.ok()) return 1;
    std::vector<pid_t> children;
    for (int32_t rank = 0; rank < num_ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) _exit(RunRank(**group, rank, transport));
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int state = 0;
      failures += waitpid(child, &state, 0) != child || state != 0;
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) { return trireme::Main(argc > 1 ? atoi(argv[1]) : 2); }
