// Three synchronous services over one set of answers.
#include "cli/testing/fake_coordinator.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "trireme/v1/jobs.grpc.pb.h"
#include "trireme/v1/plans.grpc.pb.h"
#include "trireme/v1/workers.grpc.pb.h"

namespace trireme {
namespace {

using grpc::ServerContext;

// Answers, requests and what both services need of them.
struct State {
  FakeAnswers answers;
  FakeRequests requests;
  std::mutex mutex;
  std::condition_variable left;
  bool closing = false;

  grpc::Status Check(const std::string& name) const {
    const std::string& known = answers.job.name();
    if (name == known || "jobs/" + name == known) return grpc::Status::OK;
    return {grpc::StatusCode::NOT_FOUND, "there is no job " + name};
  }

  // Whether this stream should break now.
  bool Break() {
    std::lock_guard<std::mutex> lock(mutex);
    if (answers.break_streams == 0) return false;
    --answers.break_streams;
    return true;
  }

  void Hold(ServerContext* context) {
    if (!answers.hold_streams) return;
    std::unique_lock<std::mutex> lock(mutex);
    while (!context->IsCancelled() && !closing) {
      left.wait_for(lock, std::chrono::milliseconds(5));
    }
  }
};

const grpc::Status kBroken{grpc::StatusCode::UNAVAILABLE, "broken on purpose"};

class FakeJobs : public v1::Jobs::Service {
 public:
  explicit FakeJobs(State* state) : state_(*state) {}

  grpc::Status CreateJob(ServerContext*, const v1::CreateJobRequest* request,
                         v1::Job* job) override {
    state_.requests.create = *request;
    *job = state_.answers.job;
    return grpc::Status::OK;
  }
  grpc::Status GetJob(ServerContext*, const v1::GetJobRequest* request, v1::Job* job) override {
    *job = state_.answers.job;
    return state_.Check(request->name());
  }
  grpc::Status ListJobs(ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    const size_t page = request->page_token().empty() ? 0 : std::stoul(request->page_token());
    if (page < state_.answers.jobs.size()) *response->add_jobs() = state_.answers.jobs[page];
    if (page + 1 < state_.answers.jobs.size()) {
      response->set_next_page_token(std::to_string(page + 1));
    }
    return grpc::Status::OK;
  }
  grpc::Status CancelJob(ServerContext*, const v1::CancelJobRequest* request,
                         v1::Job* job) override {
    state_.requests.cancel = *request;
    *job = state_.answers.job;
    return state_.Check(request->name());
  }
  grpc::Status GetVersion(ServerContext*, const v1::GetVersionRequest*,
                          v1::GetVersionResponse* response) override {
    response->set_version("0.1.0");
    response->set_op_table_hash(7);
    return grpc::Status::OK;
  }

  grpc::Status WatchJob(ServerContext* context, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer) override {
    const grpc::Status status = state_.Check(request->name());
    if (!status.ok()) return status;
    for (const v1::JobEvent& event : state_.answers.events) {
      if (event.revision() <= request->after_revision()) continue;
      v1::WatchJobResponse response;
      response.set_revision(event.revision());
      *response.mutable_event() = event;
      writer->Write(response);
      if (state_.Break()) return kBroken;
    }
    state_.Hold(context);
    v1::WatchJobResponse response;
    *response.mutable_snapshot() = state_.answers.job;
    writer->Write(response);
    return grpc::Status::OK;
  }

  grpc::Status TailLogs(ServerContext* context, const v1::TailLogsRequest* request,
                        grpc::ServerWriter<v1::TailLogsResponse>* writer) override {
    const grpc::Status status = state_.Check(request->name());
    if (!status.ok()) return status;
    state_.requests.logs = *request;
    for (const v1::LogLine& line : state_.answers.logs) {
      v1::TailLogsResponse response;
      *response.mutable_line() = line;
      writer->Write(response);
    }
    state_.Hold(context);
    return grpc::Status::OK;
  }

  grpc::Status StreamMetrics(ServerContext* context, const v1::StreamMetricsRequest* request,
                             grpc::ServerWriter<v1::StreamMetricsResponse>* writer) override {
    const grpc::Status status = state_.Check(request->name());
    if (!status.ok()) return status;
    {
      std::lock_guard<std::mutex> lock(state_.mutex);
      state_.requests.metrics = *request;
    }
    for (const v1::StepMetrics& step : state_.answers.steps) {
      if (step.step() < request->from_step()) continue;
      v1::StreamMetricsResponse response;
      *response.mutable_step() = step;
      writer->Write(response);
      if (state_.Break()) return kBroken;
    }
    state_.Hold(context);
    return grpc::Status::OK;
  }

 private:
  State& state_;
};

class FakePlans : public v1::Plans::Service {
 public:
  explicit FakePlans(State* state) : state_(*state) {}

  grpc::Status PlanJob(ServerContext*, const v1::PlanJobRequest* request,
                       v1::PlanJobResponse* response) override {
    state_.requests.plan = *request;
    *response = state_.answers.plan;
    return grpc::Status::OK;
  }
  grpc::Status GetSchedule(ServerContext*, const v1::GetScheduleRequest* request,
                           v1::GetScheduleResponse* response) override {
    *response = state_.answers.schedule;
    return state_.Check(request->name());
  }

 private:
  State& state_;
};

class FakeNodes : public v1::Nodes::Service {
 public:
  explicit FakeNodes(State* state) : state_(*state) {}

  grpc::Status ListNodes(ServerContext*, const v1::ListNodesRequest*,
                         v1::ListNodesResponse* response) override {
    for (const v1::Node& node : state_.answers.nodes) *response->add_nodes() = node;
    return grpc::Status::OK;
  }

 private:
  State& state_;
};

}  // namespace

class FakeCoordinator::Impl {
 public:
  explicit Impl(FakeAnswers answers) { state.answers = std::move(answers); }

  State state;
  FakeJobs jobs{&state};
  FakePlans plans{&state};
  FakeNodes nodes{&state};
  std::unique_ptr<grpc::Server> server;
};

FakeCoordinator::FakeCoordinator(FakeAnswers answers)
    : impl_(std::make_unique<Impl>(std::move(answers))) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&impl_->jobs);
  builder.RegisterService(&impl_->plans);
  builder.RegisterService(&impl_->nodes);
  impl_->server = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeCoordinator::~FakeCoordinator() {
  {
    std::lock_guard<std::mutex> lock(impl_->state.mutex);
    impl_->state.closing = true;
  }
  impl_->state.left.notify_all();
  impl_->server->Shutdown();
}

const FakeRequests& FakeCoordinator::requests() const { return impl_->state.requests; }

FakeAnswers FinishedJob() {
  FakeAnswers answers;
  v1::Job& job = answers.job;
  job.set_name("jobs/tiny-1");
  job.set_display_name("tiny");
  job.set_state(v1::Job::SUCCEEDED);
  job.set_reason("all ranks are done");
  job.set_revision(2);
  job.set_num_ranks(2);
  job.set_step(2);
  job.set_total_steps(2);
  for (int64_t i = 1; i <= 2; ++i) {
    v1::JobEvent event;
    event.set_revision(i);
    event.set_state(i == 1 ? v1::Job::RUNNING : v1::Job::SUCCEEDED);
    event.set_reason(i == 1 ? "all ranks train" : "all ranks are done");
    answers.events.push_back(event);
    v1::StepMetrics step;
    step.set_step(i);
    step.set_loss(6.0 - static_cast<double>(i));
    step.set_duration_s(0.5);
    answers.steps.push_back(step);
  }
  return answers;
}

}  // namespace trireme
