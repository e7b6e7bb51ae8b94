// A throwaway cluster on this machine: one coordinator and some workers on loopback, in a temporary folder. It stops
// and removes everything when it goes out of scope.
#ifndef TRIREME_CLI_LOCAL_CLUSTER_H_
#define TRIREME_CLI_LOCAL_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/subprocess.h"
#include "common/base/status.h"
#include "common/config/fleet.h"

namespace trireme {

class LocalCluster {
 public:
  // Starts trireme-coordinator and one trireme-worker a host of `topology`; both programs are in `program_folder`.
  // Call before the process has gRPC threads. Errors: kInternal with the last lines of a program's log.
  static StatusOr<std::unique_ptr<LocalCluster>> Start(const Topology& topology,
                                                       const std::string& program_folder);
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  const std::string& address() const { return address_; }
  const std::string& folder() const { return folder_; }
  // Waits until all workers are registered, at most `timeout_s`. Errors: as Start; kInternal when they are not;
  // kCancelled once `stop` says so.
  Status WaitUntilReady(Client& client, int timeout_s, const std::function<bool()>& stop);
  // The last lines of every log, for an error that happened in the cluster.
  std::string LogTails() const;

 private:
  LocalCluster() = default;
  Status StartCoordinator(const std::string& program_folder);
  Status StartWorkers(const Topology& topology, const std::string& program_folder);
  // Errors: kInternal naming a program that has ended.
  Status CheckAlive();

  std::string folder_;
  std::string address_;
  struct Program {
    std::string name;
    Subprocess process;
  };
  std::vector<Program> programs_;  // the coordinator first
};

}  // namespace trireme

#endif  // TRIREME_CLI_LOCAL_CLUSTER_H_
