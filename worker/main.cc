// trireme-worker: the daemon of one host, and, with --rank-fd, one rank of a job. Flags are read
// here and nowhere else.
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

#include "common/base/log.h"
#include "kernels/ops/rule.h"
#include "worker/agent/agent.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/rank/generate.h"
#include "worker/rank/rank_process.h"

namespace trireme {
namespace {

constexpr char kVersion[] = "0.1.0";

constexpr char kUsage[] = R"(usage: trireme-worker [flags]
  --coordinator ADDRESS  where the coordinator listens (127.0.0.1:7700)
  --name NAME            of this worker, unique in the cluster (the host's name)
  --slice LABEL          workers with the same label share the fast network (0)
  --device KIND          kind of its devices: cpu
  --devices N            how many it offers; for cpu: ranks it may run at once (1)
  --threads N            kernel threads of a rank (cores / devices)
  --listen-address IP    on which ranks listen for ranks of other workers (127.0.0.1)
  --work-dir FOLDER      programs, token files, flight recorders (./trireme-work-NAME)
  --orphan-s SECONDS     without coordinator for so long: stop all ranks (600)
  --with-parent          end when the program that started this one ends
  --generate FILE        answer one GenerateRequest on standard output, then end
  --version              print the version
)";

struct Flags {
  std::string coordinator = "127.0.0.1:7700";
  std::string name;
  std::string slice = "0";
  std::string device = "cpu";
  int devices = 1;
  int threads = 0;
  std::string listen_address = "127.0.0.1";
  std::string work_dir;
  double orphan_s = 600;
  std::string generate;
  int rank_fd = -1;
  int parent_pid = 0;
};

constexpr option kOptions[] = {{"coordinator", required_argument, nullptr, 'c'},
                               {"name", required_argument, nullptr, 'n'},
                               {"slice", required_argument, nullptr, 's'},
                               {"device", required_argument, nullptr, 'd'},
                               {"devices", required_argument, nullptr, 'D'},
                               {"threads", required_argument, nullptr, 't'},
                               {"listen-address", required_argument, nullptr, 'l'},
                               {"work-dir", required_argument, nullptr, 'W'},
                               {"orphan-s", required_argument, nullptr, 'o'},
                               {"generate", required_argument, nullptr, 'g'},
                               {"rank-fd", required_argument, nullptr, 'r'},
                               {"parent-pid", required_argument, nullptr, 'p'},
                               {"with-parent", no_argument, nullptr, 'w'},
                               {"version", no_argument, nullptr, 'v'},
                               {"help", no_argument, nullptr, 'h'},
                               {nullptr, 0, nullptr, 0}};

// Returns -1 to go on, or the exit code.
int ParseFlags(int argc, char** argv, Flags& flags) {
  for (int c; (c = getopt_long(argc, argv, "h", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'c':
        flags.coordinator = optarg;
        break;
      case 'n':
        flags.name = optarg;
        break;
      case 's':
        flags.slice = optarg;
        break;
      case 'd':
        flags.device = optarg;
        break;
      case 'D':
        flags.devices = std::atoi(optarg);
        break;
      case 't':
        flags.threads = std::atoi(optarg);
        break;
      case 'l':
        flags.listen_address = optarg;
        break;
      case 'W':
        flags.work_dir = optarg;
        break;
      case 'o':
        flags.orphan_s = std::atof(optarg);
        break;
      case 'g':
        flags.generate = optarg;
        break;
      case 'r':
        flags.rank_fd = std::atoi(optarg);
        break;
      case 'p':
        flags.parent_pid = std::atoi(optarg);
        break;
      case 'w':
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        break;
      case 'v':
        std::cout << kVersion << "\n";
        return 0;
      case 'h':
        std::cout << kUsage;
        return 0;
      default:
        std::cerr << kUsage;
        return 2;
    }
  }
  std::string problem;
  if (optind < argc) problem = std::string("unexpected argument ") + argv[optind];
  if (flags.devices < 1 || flags.devices > 1024) problem = "--devices must be 1 to 1024";
  if (flags.device != "cpu")
    problem = "--device " + flags.device + " is not in this build: use cpu";
  if (problem.empty()) return -1;
  std::cerr << "trireme-worker: " << problem << "\n" << kUsage;
  return 2;
}

// The host's name, made fit for a worker's.
std::string HostName() {
  char buffer[HOST_NAME_MAX + 1] = "host";
  gethostname(buffer, sizeof(buffer) - 1);
  std::string name(buffer);
  for (char& c : name) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.') c = '-';
  }
  return name;
}

// A rank never outlives its daemon, even if that died while the rank was being started.
int ServeRank(const Flags& flags) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (flags.parent_pid > 0 && getppid() != flags.parent_pid) return 3;
  return RunRank(flags.rank_fd);
}

AgentOptions ToOptions(const Flags& flags) {
  AgentOptions options;
  options.coordinator = flags.coordinator;
  options.host = HostName();
  options.name = flags.name.empty() ? options.host : flags.name;
  options.slice = flags.slice;
  options.device_kind = flags.device;
  options.num_devices = flags.devices;
  options.version = kVersion;
  options.op_table_hash = OpTableHash();
  options.incarnation = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
  options.work_folder = std::filesystem::absolute(
      flags.work_dir.empty() ? "trireme-work-" + options.name : flags.work_dir);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  options.assignment.num_threads =
      flags.threads > 0 ? flags.threads : std::max(1, cores / flags.devices);
  options.assignment.listen_address = flags.listen_address;
  options.rank_command = {std::filesystem::read_symlink("/proc/self/exe"), "--rank-fd", "{fd}",
                          "--parent-pid", std::to_string(getpid())};
  options.orphan_ms = static_cast<int64_t>(flags.orphan_s * 1000);
  options.commit_checkpoint = [](const v1::CommitCheckpoint& commit) {
    return CommitCheckpoint(CommitOptions{.folder = commit.folder(),
                                          .num_ranks = commit.num_ranks(),
                                          .attempt = commit.attempt(),
                                          .step = commit.step()});
  };
  return options;
}

int Serve(const Flags& flags) {
  const AgentOptions options = ToOptions(flags);
  SetLogName("worker " + options.name);
  sigset_t signals;  // blocked before any thread exists, so that only sigwait gets them
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Agent agent(options);
  std::thread waiter([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    agent.Stop();
  });
  const Status status = agent.Run();
  pthread_kill(waiter.native_handle(), SIGTERM);  // if it still waits
  waiter.join();
  if (status.ok()) return 0;
  std::cerr << "trireme-worker: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

int Main(int argc, char** argv) {
  // Rank processes inherit it: more ranks than free cores must not spin for one another.
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  Flags flags;
  if (const int code = ParseFlags(argc, argv, flags); code >= 0) return code;
  if (!flags.generate.empty()) return RunGenerate(flags.generate);
  if (flags.rank_fd >= 0) return ServeRank(flags);
  return Serve(flags);
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) { return trireme::Main(argc, argv); }
