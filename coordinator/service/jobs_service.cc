// Thin: every call is one call of the coordinator; streams are pulled from it with a cursor.
#include "coordinator/service/jobs_service.h"

#include <algorithm>
#include <utility>

#include "coordinator/service/pull_stream.h"
#include "coordinator/service/unary.h"

namespace trireme {
namespace {

// The stream of `cursor`, which names the job in full.
template <typename Response, typename Cursor>
grpc::ServerWriteReactor<Response>* Follow(Coordinator& coordinator, Cursor cursor) {
  const std::string job = cursor.name;
  return new PullStream<Response>(
      coordinator.notifier(), job,
      [&coordinator, cursor = std::move(cursor)](Response& out) mutable {
        return coordinator.Next(cursor, out);
      });
}

}  // namespace

grpc::ServerUnaryReactor* JobsService::CreateJob(grpc::CallbackServerContext* context,
                                                 const v1::CreateJobRequest* request,
                                                 v1::Job* response) {
  if (!request->validate_only()) {
    return Answer(context, coordinator_.CreateJob(*request), response);
  }
  return AnswerLater(context, plan_thread_, response,
                     [this, request] { return coordinator_.CreateJob(*request); });
}

grpc::ServerUnaryReactor* JobsService::GetJob(grpc::CallbackServerContext* context,
                                              const v1::GetJobRequest* request, v1::Job* response) {
  return Answer(context, coordinator_.GetJob(request->name()), response);
}

grpc::ServerUnaryReactor* JobsService::ListJobs(grpc::CallbackServerContext* context,
                                                const v1::ListJobsRequest* request,
                                                v1::ListJobsResponse* response) {
  return Answer(context, coordinator_.ListJobs(*request), response);
}

grpc::ServerUnaryReactor* JobsService::CancelJob(grpc::CallbackServerContext* context,
                                                 const v1::CancelJobRequest* request,
                                                 v1::Job* response) {
  return Answer(context, coordinator_.CancelJob(*request), response);
}

grpc::ServerUnaryReactor* JobsService::GetVersion(grpc::CallbackServerContext* context,
                                                  const v1::GetVersionRequest* request,
                                                  v1::GetVersionResponse* response) {
  response->set_version(coordinator_.options().version);
  response->set_op_table_hash(coordinator_.options().core.cluster.op_table_hash);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobsService::WatchJob(
    grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) {
  const StatusOr<v1::Job> job = coordinator_.GetJob(request->name());
  if (!job.ok()) return new RefusedStream<v1::WatchJobResponse>(ToGrpc(job.status()));
  if (request->after_revision() < 0 || request->after_revision() > job->revision()) {
    return new RefusedStream<v1::WatchJobResponse>(grpc::Status(
        grpc::StatusCode::OUT_OF_RANGE,
        job->name() + " has revisions 1 to " + std::to_string(job->revision()) + ", not " +
            std::to_string(request->after_revision()) + "; watch from after_revision 0"));
  }
  return Follow<v1::WatchJobResponse>(coordinator_,
                                      WatchCursor{job->name(), request->after_revision()});
}

grpc::ServerWriteReactor<v1::TailLogsResponse>* JobsService::TailLogs(
    grpc::CallbackServerContext* context, const v1::TailLogsRequest* request) {
  const StatusOr<v1::Job> job = coordinator_.GetJob(request->name());
  if (!job.ok()) return new RefusedStream<v1::TailLogsResponse>(ToGrpc(job.status()));
  const int64_t after =
      std::max(request->after_sequence(),
               coordinator_.LogSequenceBefore(job->name(), request->last_lines()));
  return Follow<v1::TailLogsResponse>(coordinator_,
                                      LogCursor{job->name(), after, request->follow()});
}

grpc::ServerWriteReactor<v1::StreamMetricsResponse>* JobsService::StreamMetrics(
    grpc::CallbackServerContext* context, const v1::StreamMetricsRequest* request) {
  const StatusOr<v1::Job> job = coordinator_.GetJob(request->name());
  if (!job.ok()) return new RefusedStream<v1::StreamMetricsResponse>(ToGrpc(job.status()));
  return Follow<v1::StreamMetricsResponse>(
      coordinator_, MetricsCursor{job->name(), request->from_step(), request->follow()});
}

}  // namespace trireme
