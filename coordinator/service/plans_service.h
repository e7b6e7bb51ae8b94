// The Plans service: plans without jobs, and the programs and schedules of running ones.
#ifndef TRIREME_COORDINATOR_SERVICE_PLANS_SERVICE_H_
#define TRIREME_COORDINATOR_SERVICE_PLANS_SERVICE_H_

#include "coordinator/service/coordinator.h"
#include "coordinator/service/plan_thread.h"
#include "trireme/v1/plans.grpc.pb.h"

namespace trireme {

inline constexpr int64_t kProgramChunkBytes = 256 * 1024;

class PlansService final : public v1::Plans::CallbackService {
 public:
  // Both must outlive the service.
  PlansService(Coordinator& coordinator, PlanThread& plan_thread)
      : coordinator_(coordinator), plan_thread_(plan_thread) {}

  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context,
                                    const v1::PlanJobRequest* request,
                                    v1::PlanJobResponse* response) override;
  grpc::ServerWriteReactor<v1::ProgramChunk>* GetProgram(
      grpc::CallbackServerContext* context, const v1::GetProgramRequest* request) override;
  grpc::ServerUnaryReactor* GetSchedule(grpc::CallbackServerContext* context,
                                        const v1::GetScheduleRequest* request,
                                        v1::GetScheduleResponse* response) override;

 private:
  Coordinator& coordinator_;
  PlanThread& plan_thread_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_PLANS_SERVICE_H_
