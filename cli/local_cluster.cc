// Starts programs, waits for the port file, then for the workers.
#include "cli/local_cluster.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "cli/args.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kStartTimeoutS = 30;
constexpr int kStopGraceMs = 5000;

StatusOr<std::string> MakeFolder() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "trireme-run-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) {
    return Internal("cannot make a temporary folder " + path + "; set TMPDIR to one you can write");
  }
  return path;
}

std::string LastLines(const std::string& path, size_t count) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back("    " + Printable(line));
    if (lines.size() > count) lines.erase(lines.begin());
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(const Topology& topology,
                                                            const std::string& program_folder) {
  std::unique_ptr<LocalCluster> cluster(new LocalCluster());
  ASSIGN_OR_RETURN(cluster->folder_, MakeFolder());
  RETURN_IF_ERROR(cluster->StartCoordinator(program_folder));
  RETURN_IF_ERROR(cluster->StartWorkers(topology, program_folder));
  return cluster;
}

LocalCluster::~LocalCluster() {
  for (Program& program : programs_) program.process.Signal(SIGTERM);
  while (!programs_.empty()) {
    programs_.back().process.Stop(kStopGraceMs);
    programs_.pop_back();
  }
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

Status LocalCluster::StartCoordinator(const std::string& program_folder) {
  const std::string port_file = folder_ + "/port";
  auto process = Subprocess::Start(
      program_folder + "/trireme-coordinator",
      {"--listen=127.0.0.1:0", "--data-dir=" + folder_ + "/coordinator", "--port-file=" + port_file},
      {folder_ + "/coordinator.log"});
  RETURN_IF_ERROR(process.status());
  programs_.push_back({"coordinator", *std::move(process)});
  const auto deadline = Clock::now() + std::chrono::seconds(kStartTimeoutS);
  while (Clock::now() < deadline) {
    RETURN_IF_ERROR(CheckAlive());
    if (std::ifstream(port_file) >> address_) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Internal("the coordinator did not open its port within " + std::to_string(kStartTimeoutS) +
                  " s:\n" + LastLines(folder_ + "/coordinator.log", 10));
}

Status LocalCluster::StartWorkers(const Topology& topology, const std::string& program_folder) {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t threads = std::max<int64_t>(1, cores / topology.num_devices());
  for (const Host& host : topology.hosts) {
    const std::string work = folder_ + "/" + host.name;
    auto process = Subprocess::Start(
        program_folder + "/trireme-worker",
        {"--coordinator=" + address_, "--name=" + host.name,
         "--slice=" + std::to_string(host.slice), "--devices=" + std::to_string(host.devices),
         "--threads=" + std::to_string(threads), "--work-dir=" + work},
        {work + ".log"});
    RETURN_IF_ERROR(process.status());
    programs_.push_back({host.name, *std::move(process)});
  }
  return absl::OkStatus();
}

Status LocalCluster::CheckAlive() {
  for (Program& program : programs_) {
    if (program.process.running()) continue;
    return Internal(program.name + " ended with exit code " +
                    std::to_string(program.process.Wait()) + ":\n" +
                    LastLines(folder_ + "/" + program.name + ".log", 10));
  }
  return absl::OkStatus();
}

Status LocalCluster::WaitUntilReady(Client& client, int timeout_s,
                                    const std::function<bool()>& stop) {
  const int wanted = static_cast<int>(programs_.size()) - 1;
  const auto deadline = Clock::now() + std::chrono::seconds(timeout_s);
  int ready = 0;
  while (Clock::now() < deadline) {
    if (stop()) return absl::CancelledError("interrupted");
    RETURN_IF_ERROR(CheckAlive());
    const auto nodes = client.ListNodes();
    RETURN_IF_ERROR(nodes.status());
    ready = 0;
    for (const v1::Node& node : nodes->nodes()) ready += node.state() == v1::Node::READY;
    if (ready == wanted) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Internal(std::to_string(ready) + " of " + std::to_string(wanted) +
                  " workers registered within " + std::to_string(timeout_s) + " s:\n" + LogTails());
}

std::string LocalCluster::LogTails() const {
  std::string text;
  for (const Program& program : programs_) {
    text += "  " + program.name + ":\n" + LastLines(folder_ + "/" + program.name + ".log", 10);
  }
  return text;
}

}  // namespace trireme
