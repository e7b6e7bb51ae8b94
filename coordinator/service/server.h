// The coordinator's gRPC server: services, health, reflection, keepalive, limits. Without TLS it
// listens on loopback only.
#ifndef TRIREME_COORDINATOR_SERVICE_SERVER_H_
#define TRIREME_COORDINATOR_SERVICE_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "common/base/status.h"
#include "coordinator/service/coordinator.h"
#include "coordinator/service/jobs_service.h"
#include "coordinator/service/plan_thread.h"
#include "coordinator/service/plans_service.h"
#include "coordinator/service/workers_service.h"

namespace trireme {

// kInvalidArgument unless `address` is "host:port" with a loopback host (127.x.x.x, localhost,
// [::1]) or "unix:path".
Status CheckListenAddress(const std::string& address);

class CoordinatorServer {
 public:
  // Serves the coordinator, which must have started and must outlive the server. Port 0 takes a
  // free one. Errors: kInvalidArgument for the address, kUnavailable if it cannot be bound.
  static StatusOr<std::unique_ptr<CoordinatorServer>> Start(Coordinator& coordinator,
                                                            const std::string& address);
  ~CoordinatorServer();  // gives running calls two seconds

  const std::string& address() const { return address_; }  // with the real port

 private:
  explicit CoordinatorServer(Coordinator& coordinator)
      : jobs_(coordinator, plan_thread_),
        plans_(coordinator, plan_thread_),
        workers_(coordinator),
        nodes_(coordinator) {}

  PlanThread plan_thread_;
  JobsService jobs_;
  PlansService plans_;
  WorkersService workers_;
  NodesService nodes_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_SERVER_H_
