// Every unary call has a deadline; the context of every stream is known, so that Ctrl-C can end it.
#include "cli/client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>
#include <set>

#include "trireme/v1/jobs.grpc.pb.h"
#include "trireme/v1/plans.grpc.pb.h"
#include "trireme/v1/workers.grpc.pb.h"

namespace trireme {
namespace {

constexpr std::chrono::seconds kDeadline{10};
constexpr std::chrono::seconds kPlanDeadline{120};
constexpr int kMaxMessageBytes = 256 << 20;  // a plan of 16,384 ranks is a few MiB

}  // namespace

class Client::Impl {
 public:
  explicit Impl(const std::string& address) : address_(address) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    jobs = v1::Jobs::NewStub(channel_);
    plans = v1::Plans::NewStub(channel_);
    nodes = v1::Nodes::NewStub(channel_);
  }

  // Calls `method` with a deadline.
  template <typename Stub, typename Request, typename Response>
  StatusOr<Response> Call(Stub& stub,
                          grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                       Response*),
                          const Request& request, std::chrono::seconds deadline = kDeadline) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return ToStatus(status);
    return response;
  }

  template <typename Message, typename Open>
  Status Stream(const OnMessage<Message>& on_message, const Open& open) {
    grpc::ClientContext context;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (cancelled_) return absl::CancelledError("interrupted");
      streams_.insert(&context);
    }
    bool stopped = false;
    auto reader = open(&context);
    Message message;
    while (!stopped && reader->Read(&message)) stopped = !on_message(message);
    if (stopped) context.TryCancel();
    const grpc::Status status = reader->Finish();
    std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(&context);
    if (stopped) return absl::OkStatus();
    if (cancelled_) return absl::CancelledError("interrupted");
    return ToStatus(status);
  }

  void CancelStreams() {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : streams_) context->TryCancel();
  }

  std::unique_ptr<v1::Jobs::Stub> jobs;
  std::unique_ptr<v1::Plans::Stub> plans;
  std::unique_ptr<v1::Nodes::Stub> nodes;

 private:
  Status ToStatus(const grpc::Status& status) const {
    if (status.ok()) return absl::OkStatus();
    const auto code = static_cast<absl::StatusCode>(status.error_code());
    if (code == absl::StatusCode::kUnavailable) {
      return Unavailable("no coordinator answers at " + address_ + " (" + status.error_message() +
                         "); start one with trireme-coordinator, or name another with "
                         "--coordinator or TRIREME_COORDINATOR");
    }
    if (code == absl::StatusCode::kDeadlineExceeded) {
      return DeadlineExceeded("the coordinator at " + address_ +
                              " did not answer in time; is it overloaded or stopped?");
    }
    return Status(code, status.error_message());
  }

  const std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  bool cancelled_ = false;                    // guarded by mutex_
  std::set<grpc::ClientContext*> streams_;    // guarded by mutex_
};

Client::Client(const std::string& address) : impl_(std::make_unique<Impl>(address)) {}
Client::~Client() = default;

StatusOr<v1::Job> Client::CreateJob(const v1::CreateJobRequest& request) {
  return impl_->Call(*impl_->jobs, &v1::Jobs::Stub::CreateJob, request, kPlanDeadline);
}

StatusOr<v1::Job> Client::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  return impl_->Call(*impl_->jobs, &v1::Jobs::Stub::GetJob, request);
}

StatusOr<v1::ListJobsResponse> Client::ListJobs(const v1::ListJobsRequest& request) {
  return impl_->Call(*impl_->jobs, &v1::Jobs::Stub::ListJobs, request);
}

StatusOr<v1::Job> Client::CancelJob(const std::string& name, const std::string& reason) {
  v1::CancelJobRequest request;
  request.set_name(name);
  request.set_reason(reason);
  return impl_->Call(*impl_->jobs, &v1::Jobs::Stub::CancelJob, request);
}

StatusOr<v1::GetVersionResponse> Client::GetVersion() {
  return impl_->Call(*impl_->jobs, &v1::Jobs::Stub::GetVersion, v1::GetVersionRequest());
}

StatusOr<v1::PlanJobResponse> Client::PlanJob(const v1::PlanJobRequest& request) {
  return impl_->Call(*impl_->plans, &v1::Plans::Stub::PlanJob, request, kPlanDeadline);
}

StatusOr<v1::GetScheduleResponse> Client::GetSchedule(const std::string& name) {
  v1::GetScheduleRequest request;
  request.set_name(name);
  return impl_->Call(*impl_->plans, &v1::Plans::Stub::GetSchedule, request);
}

StatusOr<v1::ListNodesResponse> Client::ListNodes() {
  return impl_->Call(*impl_->nodes, &v1::Nodes::Stub::ListNodes, v1::ListNodesRequest());
}

Status Client::WatchJob(const v1::WatchJobRequest& request,
                        const OnMessage<v1::WatchJobResponse>& on_message) {
  return impl_->Stream(on_message, [&](grpc::ClientContext* context) {
    return impl_->jobs->WatchJob(context, request);
  });
}

Status Client::TailLogs(const v1::TailLogsRequest& request,
                        const OnMessage<v1::TailLogsResponse>& on_message) {
  return impl_->Stream(on_message, [&](grpc::ClientContext* context) {
    return impl_->jobs->TailLogs(context, request);
  });
}

Status Client::StreamMetrics(const v1::StreamMetricsRequest& request,
                             const OnMessage<v1::StreamMetricsResponse>& on_message) {
  return impl_->Stream(on_message, [&](grpc::ClientContext* context) {
    return impl_->jobs->StreamMetrics(context, request);
  });
}

void Client::CancelStreams() { impl_->CancelStreams(); }

std::string BareName(const std::string& name) {
  constexpr char kPrefix[] = "jobs/";
  return name.rfind(kPrefix, 0) == 0 ? name.substr(sizeof(kPrefix) - 1) : name;
}

}  // namespace trireme
