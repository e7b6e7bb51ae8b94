// The Jobs service: what people and scripts call.
#ifndef TRIREME_COORDINATOR_SERVICE_JOBS_SERVICE_H_
#define TRIREME_COORDINATOR_SERVICE_JOBS_SERVICE_H_

#include "coordinator/service/coordinator.h"
#include "coordinator/service/plan_thread.h"
#include "trireme/v1/jobs.grpc.pb.h"

namespace trireme {

class JobsService final : public v1::Jobs::CallbackService {
 public:
  // Both must outlive the service.
  JobsService(Coordinator& coordinator, PlanThread& plan_thread)
      : coordinator_(coordinator), plan_thread_(plan_thread) {}

  grpc::ServerUnaryReactor* CreateJob(grpc::CallbackServerContext* context,
                                      const v1::CreateJobRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request, v1::Job* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* GetVersion(grpc::CallbackServerContext* context,
                                       const v1::GetVersionRequest* request,
                                       v1::GetVersionResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(
      grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) override;
  grpc::ServerWriteReactor<v1::TailLogsResponse>* TailLogs(
      grpc::CallbackServerContext* context, const v1::TailLogsRequest* request) override;
  grpc::ServerWriteReactor<v1::StreamMetricsResponse>* StreamMetrics(
      grpc::CallbackServerContext* context, const v1::StreamMetricsRequest* request) override;

 private:
  Coordinator& coordinator_;
  PlanThread& plan_thread_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_JOBS_SERVICE_H_
