// The Workers and Nodes services: one two-way stream a worker, and the list of workers for people.
#ifndef TRIREME_COORDINATOR_SERVICE_WORKERS_SERVICE_H_
#define TRIREME_COORDINATOR_SERVICE_WORKERS_SERVICE_H_

#include "coordinator/service/coordinator.h"
#include "trireme/v1/workers.grpc.pb.h"

namespace trireme {

class WorkersService final : public v1::Workers::CallbackService {
 public:
  // `coordinator` must outlive the service.
  explicit WorkersService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::ServerBidiReactor<v1::WorkerUp, v1::WorkerDown>* Connect(
      grpc::CallbackServerContext* context) override;

 private:
  Coordinator& coordinator_;
};

class NodesService final : public v1::Nodes::CallbackService {
 public:
  // `coordinator` must outlive the service.
  explicit NodesService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context,
                                      const v1::ListNodesRequest* request,
                                      v1::ListNodesResponse* response) override;

 private:
  Coordinator& coordinator_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_WORKERS_SERVICE_H_
