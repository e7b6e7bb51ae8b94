// The coordinator's services as plain calls: deadlines, retries of safe reads, and errors in the user's words. The only
// file of the command line that includes gRPC.
#ifndef TRIREME_CLI_CLIENT_H_
#define TRIREME_CLI_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "trireme/v1/jobs.pb.h"
#include "trireme/v1/plans.pb.h"
#include "trireme/v1/workers.pb.h"

namespace trireme {

// Errors of all calls: what the coordinator answered; kUnavailable when none answers at `address`, kDeadlineExceeded
// when it takes over the deadline. Streams return OK at their end, kCancelled after CancelStreams.
class Client {
 public:
  // Connects with the first call.
  explicit Client(const std::string& address);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request);
  StatusOr<v1::Job> GetJob(const std::string& name);
  StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request);
  StatusOr<v1::Job> CancelJob(const std::string& name, const std::string& reason);
  StatusOr<v1::GetVersionResponse> GetVersion();
  StatusOr<v1::PlanJobResponse> PlanJob(const v1::PlanJobRequest& request);
  StatusOr<v1::GetScheduleResponse> GetSchedule(const std::string& name);
  StatusOr<v1::ListNodesResponse> ListNodes();

  // Streams call `on_message` for every message, on the calling thread; it returns false to stop.
  template <typename Message>
  using OnMessage = std::function<bool(const Message&)>;
  Status WatchJob(const v1::WatchJobRequest& request,
                  const OnMessage<v1::WatchJobResponse>& on_message);
  Status TailLogs(const v1::TailLogsRequest& request,
                  const OnMessage<v1::TailLogsResponse>& on_message);
  Status StreamMetrics(const v1::StreamMetricsRequest& request,
                       const OnMessage<v1::StreamMetricsResponse>& on_message);

  // Ends all streams now and every later one at once. Any thread.
  void CancelStreams();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// "tiny-1" of "jobs/tiny-1".
std::string BareName(const std::string& name);

}  // namespace trireme

#endif  // TRIREME_CLI_CLIENT_H_
