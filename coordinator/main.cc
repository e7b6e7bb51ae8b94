// trireme-coordinator: plans jobs, gives them to workers, follows them. Flags are read here and
// nowhere else.
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "common/base/log.h"
#include "coordinator/planner/planner.h"
#include "coordinator/service/server.h"
#include "kernels/ops/rule.h"

namespace trireme {
namespace {

constexpr char kVersion[] = "0.1.0";

constexpr char kUsage[] = R"(usage: trireme-coordinator [flags]
  --listen ADDRESS    loopback address and port (127.0.0.1:7700); port 0 takes a free one
  --data-dir FOLDER   jobs and events are kept here (./trireme-data); made if missing
  --port-file FILE    write the bound address here once it serves
  --lease-s SECONDS   a worker silent for so long is lost (45)
  --with-parent       end when the program that started this one ends
  --version           print the version
)";

struct Flags {
  std::string listen = "127.0.0.1:7700";
  std::string data_dir = "trireme-data";
  std::string port_file;
  double lease_s = 45;
};

// Returns -1 to go on, or the exit code.
int ParseFlags(int argc, char** argv, Flags& flags) {
  const option options[] = {{"listen", required_argument, nullptr, 'l'},
                            {"data-dir", required_argument, nullptr, 'd'},
                            {"port-file", required_argument, nullptr, 'p'},
                            {"lease-s", required_argument, nullptr, 's'},
                            {"with-parent", no_argument, nullptr, 'w'},
                            {"version", no_argument, nullptr, 'v'},
                            {"help", no_argument, nullptr, 'h'},
                            {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "h", options, nullptr)) != -1;) {
    switch (c) {
      case 'l':
        flags.listen = optarg;
        break;
      case 'd':
        flags.data_dir = optarg;
        break;
      case 'p':
        flags.port_file = optarg;
        break;
      case 's':
        flags.lease_s = std::atof(optarg);
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
  if (optind < argc || flags.lease_s < 1) {
    std::cerr << (optind < argc ? std::string("unexpected argument ") + argv[optind]
                                : std::string("--lease-s must be at least 1"))
              << "\n"
              << kUsage;
    return 2;
  }
  return -1;
}

class RealPlanner : public PlannerInterface {
 public:
  StatusOr<Plan> MakePlan(const JobSpec& job, const Topology& topology) const override {
    return PlanJob(job, topology);
  }
};

// Whole or not at all: whoever waits for the file never reads half of it.
Status WriteAddress(const std::string& path, const std::string& address) {
  {
    std::ofstream file(path + ".part");
    file << address << "\n";
    if (!file.flush()) return InvalidArgument("cannot write --port-file " + path);
  }
  std::error_code error;
  std::filesystem::rename(path + ".part", path, error);
  return error ? InvalidArgument("cannot write --port-file " + path + ": " + error.message())
               : absl::OkStatus();
}

Status Serve(const Flags& flags, const sigset_t& signals) {
  RETURN_IF_ERROR(CheckListenAddress(flags.listen));
  std::error_code error;
  std::filesystem::create_directories(flags.data_dir, error);
  if (error)
    return InvalidArgument("cannot make --data-dir " + flags.data_dir + ": " + error.message());
  ASSIGN_OR_RETURN(const auto store, JobStore::Open(flags.data_dir + "/jobs.db"));
  const RealPlanner planner;
  Coordinator::Options options;
  options.version = kVersion;
  options.core.cluster.op_table_hash = OpTableHash();
  options.core.cluster.lease_ms = static_cast<int64_t>(flags.lease_s * 1000);
  options.core.beat_ms = std::min<int64_t>(5000, options.core.cluster.lease_ms / 5);
  Coordinator coordinator(options, store.get(), &planner);
  RETURN_IF_ERROR(coordinator.Start());
  ASSIGN_OR_RETURN(auto server, CoordinatorServer::Start(coordinator, flags.listen));
  LOG(INFO) << "serves address=" << server->address() << " data_dir=" << flags.data_dir;
  if (!flags.port_file.empty()) {
    RETURN_IF_ERROR(WriteAddress(flags.port_file, server->address()));
  }
  int signal = 0;
  sigwait(&signals, &signal);
  LOG(INFO) << "stops signal=" << signal;
  coordinator.Stop();
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  if (const int code = ParseFlags(argc, argv, flags); code >= 0) return code;
  SetLogName("coordinator");
  sigset_t signals;  // blocked before any thread exists, so that only sigwait gets them
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const Status status = Serve(flags, signals);
  if (status.ok()) return 0;
  std::cerr << "trireme-coordinator: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) { return trireme::Main(argc, argv); }
