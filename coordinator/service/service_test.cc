// The services over real gRPC on a free loopback port: a test planner behind them, a worker made by
// hand in front.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "common/formats/sha256.h"
#include "coordinator/service/server.h"
#include "coordinator/service/test_planner.h"
#include "trireme/v1/jobs.grpc.pb.h"
#include "trireme/v1/plans.grpc.pb.h"
#include "trireme/v1/workers.grpc.pb.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using v1::Job;

// A worker as the coordinator sees one. Every read waits at most as long as the stream's deadline.
class HandWorker {
 public:
  HandWorker(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
             int32_t devices, int64_t incarnation = 1)
      : stub_(v1::Workers::NewStub(channel)), name_(name) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_ = stub_->Connect(&context_);
    v1::WorkerUp up;
    v1::Register& registration = *up.mutable_registration();
    registration.set_worker(name);
    registration.set_device_kind("cpu");
    registration.set_num_devices(devices);
    registration.set_incarnation(incarnation);
    registration.set_op_table_hash(7);
    Write(up);
  }

  void Write(const v1::WorkerUp& up) { ASSERT_TRUE(stream_->Write(up)); }
  v1::WorkerDown Read() {
    v1::WorkerDown down;
    EXPECT_TRUE(stream_->Read(&down)) << name_ << ": stream ended";
    return down;
  }
  grpc::Status End() {
    v1::WorkerDown down;
    while (stream_->Read(&down)) {
    }
    return stream_->Finish();
  }
  v1::WorkerUp Update(const v1::Assign& assign, int32_t rank) {
    v1::WorkerUp up;
    up.mutable_rank()->set_job(assign.job());
    up.mutable_rank()->set_attempt(assign.attempt());
    up.mutable_rank()->set_rank(rank);
    return up;
  }
  void SayListening(const v1::Assign& assign, int32_t rank) {
    v1::WorkerUp up = Update(assign, rank);
    up.mutable_rank()->mutable_listening()->set_address("127.0.0.1:1");
    Write(up);
  }
  void SayReady(const v1::Assign& assign, int32_t rank) {
    v1::WorkerUp up = Update(assign, rank);
    up.mutable_rank()->mutable_ready()->set_arena_bytes(4096);  // TestPlanner's
    Write(up);
  }
  void SayStep(const v1::Assign& assign, int64_t step, double loss) {
    v1::WorkerUp up = Update(assign, 0);
    up.mutable_rank()->mutable_step()->set_step(step);
    up.mutable_rank()->mutable_step()->set_loss(loss);
    Write(up);
  }
  void SayWritten(const v1::Assign& assign, int32_t rank, int64_t step) {
    v1::WorkerUp up = Update(assign, rank);
    up.mutable_rank()->mutable_checkpoint()->set_step(step);
    up.mutable_rank()->mutable_checkpoint()->set_folder("/ckpt/3");
    Write(up);
  }
  void SayDone(const v1::Assign& assign, int32_t rank, int64_t step) {
    v1::WorkerUp up = Update(assign, rank);
    up.mutable_rank()->mutable_done()->set_step(step);
    Write(up);
  }
  void SayEnded(const v1::Assign& assign) {
    v1::WorkerUp up;
    up.mutable_ended()->set_job(assign.job());
    up.mutable_ended()->set_attempt(assign.attempt());
    Write(up);
  }

 private:
  std::unique_ptr<v1::Workers::Stub> stub_;
  std::string name_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerUp, v1::WorkerDown>> stream_;
};

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = JobStore::Open(":memory:");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    Coordinator::Options options;
    options.version = "0.1.0";
    options.core.cluster.op_table_hash = 7;
    options.tick_ms = 20;
    coordinator_ = std::make_unique<Coordinator>(options, store_.get(), &planner_);
    ASSERT_TRUE(coordinator_->Start().ok());
    auto server = CoordinatorServer::Start(*coordinator_, "127.0.0.1:0");
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    jobs_ = v1::Jobs::NewStub(channel_);
    plans_ = v1::Plans::NewStub(channel_);
  }
  void TearDown() override {
    coordinator_->Stop();
    server_.reset();
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }
  Job Create(const std::string& text) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::CreateJobRequest request;
    request.set_job_text(text);
    Job job;
    const grpc::Status status = jobs_->CreateJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }
  // Watches until the stream ends; the codes of all events, and the last snapshot.
  std::vector<std::string> WatchToEnd(const std::string& name, Job& last) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::WatchJobRequest request;
    request.set_name(name);
    auto reader = jobs_->WatchJob(&context, request);
    v1::WatchJobResponse response;
    std::vector<std::string> codes;
    while (reader->Read(&response)) {
      if (response.has_event()) codes.push_back(response.event().code());
      if (response.has_snapshot()) last = response.snapshot();
    }
    EXPECT_TRUE(reader->Finish().ok());
    return codes;
  }

  std::unique_ptr<JobStore> store_;
  TestPlanner planner_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<CoordinatorServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
  std::unique_ptr<v1::Plans::Stub> plans_;
};

TEST_F(ServiceTest, RunsAJobFromCreateToSuccess) {
  HandWorker a(channel_, "a", 1), b(channel_, "b", 1);
  EXPECT_GT(a.Read().registered().lease_ms(), 0);
  EXPECT_TRUE(b.Read().has_registered());
  const Job created = Create(TestJobText("tiny", 2));
  EXPECT_EQ(created.name(), "jobs/tiny-1");
  EXPECT_EQ(created.state(), Job::QUEUED);
  const v1::Assign at_a = a.Read().assign(), at_b = b.Read().assign();
  ASSERT_EQ(at_a.ranks_size(), 1);
  EXPECT_EQ(at_b.ranks(0).rank(), 1);
  EXPECT_EQ(at_a.token().size(), 32u);
  {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetProgramRequest request;
    request.set_sha256(at_a.ranks(0).program_sha256());
    auto reader = plans_->GetProgram(&context, request);
    v1::ProgramChunk chunk;
    std::string bytes;
    while (reader->Read(&chunk)) bytes += chunk.data();
    ASSERT_TRUE(reader->Finish().ok());
    EXPECT_EQ(Sha256Hex(bytes), request.sha256());
  }
  a.SayListening(at_a, 0);
  b.SayListening(at_b, 1);
  EXPECT_EQ(a.Read().rendezvous().peers_size(), 2);
  EXPECT_TRUE(b.Read().has_rendezvous());
  a.SayReady(at_a, 0);
  b.SayReady(at_b, 1);
  for (int step = 1; step <= 3; ++step) a.SayStep(at_a, step, 5.0 - step);
  a.SayWritten(at_a, 0, 3);
  b.SayWritten(at_b, 1, 3);
  const v1::WorkerDown commit = a.Read();
  ASSERT_TRUE(commit.has_commit());
  a.SayDone(at_a, 0, 3);
  b.SayDone(at_b, 1, 3);
  v1::WorkerUp written;
  written.mutable_commit()->set_job(at_a.job());
  written.mutable_commit()->set_attempt(at_a.attempt());
  written.mutable_commit()->set_step(3);
  written.mutable_commit()->set_folder(commit.commit().folder());
  a.Write(written);
  Job last;
  EXPECT_THAT(WatchToEnd("tiny-1", last),
              ElementsAre("CREATED", "PLANNING", "PLACING", "FETCHING", "RENDEZVOUS", "RESTORING",
                          "RUNNING", "CHECKPOINT_COMMITTED", "SUCCEEDED"));
  EXPECT_EQ(last.state(), Job::SUCCEEDED);
  EXPECT_EQ(last.checkpoint_step(), 3);
  EXPECT_THAT(last.hosts(), ElementsAre("a", "b"));
  a.SayEnded(at_a);
  EXPECT_TRUE(a.Read().has_release());
}

TEST_F(ServiceTest, FollowsMetricsAndLogsUntilTheJobEnds) {
  HandWorker a(channel_, "a", 1);
  a.Read();
  Create(TestJobText("tiny", 1));
  const v1::Assign assign = a.Read().assign();
  a.SayStep(assign, 1, 4.0);
  grpc::ClientContext metrics_context;
  SetDeadline(metrics_context);
  v1::StreamMetricsRequest request;
  request.set_name("tiny-1");
  request.set_follow(true);
  auto metrics = jobs_->StreamMetrics(&metrics_context, request);
  v1::StreamMetricsResponse response;
  ASSERT_TRUE(metrics->Read(&response));
  EXPECT_EQ(response.step().step(), 1);
  a.SayStep(assign, 2, 3.5);
  ASSERT_TRUE(metrics->Read(&response));
  EXPECT_EQ(response.step().loss(), 3.5);
  v1::WorkerUp line = a.Update(assign, 0);
  line.mutable_rank()->mutable_log()->set_line("hello");
  a.Write(line);
  v1::WorkerUp failed = a.Update(assign, 0);
  failed.mutable_rank()->mutable_failed()->set_code(13);
  failed.mutable_rank()->mutable_failed()->set_message("killed by signal 9");
  a.Write(failed);
  EXPECT_FALSE(metrics->Read(&response));
  EXPECT_TRUE(metrics->Finish().ok());
  EXPECT_TRUE(a.Read().stop().kill());
  grpc::ClientContext logs_context;
  SetDeadline(logs_context);
  v1::TailLogsRequest logs_request;
  logs_request.set_name("jobs/tiny-1");
  auto logs = jobs_->TailLogs(&logs_context, logs_request);
  v1::TailLogsResponse log;
  std::vector<std::string> lines;
  while (logs->Read(&log)) lines.push_back(log.line().text());
  EXPECT_TRUE(logs->Finish().ok());
  EXPECT_THAT(lines, ElementsAre("hello", "failed: killed by signal 9"));
}

TEST_F(ServiceTest, AWatchCanBeResumedAndKnowsItsRange) {
  Create(TestJobText("tiny", 1));
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CancelJobRequest cancel;
  cancel.set_name("tiny-1");
  cancel.set_reason("enough");
  Job job;
  ASSERT_TRUE(jobs_->CancelJob(&context, cancel, &job).ok());
  EXPECT_EQ(job.state(), Job::CANCELLED);
  grpc::ClientContext resumed;
  SetDeadline(resumed);
  v1::WatchJobRequest request;
  request.set_name("tiny-1");
  request.set_after_revision(job.revision() - 1);
  auto reader = jobs_->WatchJob(&resumed, request);
  v1::WatchJobResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.event().code(), "CANCELLED");
  EXPECT_EQ(response.event().reason(), "enough");
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.has_snapshot());
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
  grpc::ClientContext outside;
  SetDeadline(outside);
  request.set_after_revision(99);
  auto refused = jobs_->WatchJob(&outside, request);
  EXPECT_FALSE(refused->Read(&response));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::OUT_OF_RANGE);
}

TEST_F(ServiceTest, ErrorsHaveCodesAndWords) {
  Job job;
  {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::CreateJobRequest request;
    request.set_job_text("name: x\nsoup: 1\n");
    request.set_file("bad.yaml");
    const grpc::Status status = jobs_->CreateJob(&context, request, &job);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("bad.yaml:"));
  }
  {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetJobRequest request;
    request.set_name("none-1");
    EXPECT_EQ(jobs_->GetJob(&context, request, &job).error_code(), grpc::StatusCode::NOT_FOUND);
  }
  {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::PlanJobRequest request;
    request.set_job_text(TestJobText("tiny", 2));
    v1::PlanJobResponse response;
    const grpc::Status status = plans_->PlanJob(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("no worker is connected"));
  }
}

TEST_F(ServiceTest, PlansForAFleetOrTheLiveCluster) {
  HandWorker a(channel_, "a", 4);
  a.Read();
  for (const std::string fleet :
       {"{device: cpu, slices: 1, hosts_per_slice: 1, devices_per_host: 2}", ""}) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::PlanJobRequest request;
    request.set_job_text(TestJobText("tiny", 2));
    request.set_fleet_text(fleet);
    v1::PlanJobResponse response;
    const grpc::Status status = plans_->PlanJob(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_THAT(response.plan_json(), HasSubstr("\"ranks\""));
  }
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CreateJobRequest validate;
  validate.set_job_text(TestJobText("unplannable", 2));
  validate.set_validate_only(true);
  Job job;
  EXPECT_EQ(jobs_->CreateJob(&context, validate, &job).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(coordinator_->ListJobs({})->jobs_size(), 0);
}

TEST_F(ServiceTest, RefusesAWorkerOfAnotherBuildAndReplacesAnOldStream) {
  HandWorker old(channel_, "a", 1, /*incarnation=*/5);
  old.Read();
  HandWorker stale(channel_, "a", 1, /*incarnation=*/4);
  EXPECT_EQ(stale.End().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  HandWorker young(channel_, "a", 1, /*incarnation=*/6);
  EXPECT_TRUE(young.Read().has_registered());
  EXPECT_EQ(old.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  const v1::ListNodesResponse nodes = coordinator_->ListNodes();
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).state(), v1::Node::READY);
  EXPECT_EQ(nodes.nodes(0).incarnation(), 6);
}

TEST_F(ServiceTest, TheScheduleOfARunningJobCanBeFetched) {
  HandWorker a(channel_, "a", 1);
  a.Read();
  Create(TestJobText("tiny", 1));
  const v1::Assign assign = a.Read().assign();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetScheduleRequest request;
  request.set_name("tiny-1");
  v1::GetScheduleResponse response;
  ASSERT_TRUE(plans_->GetSchedule(&context, request, &response).ok());
  ASSERT_EQ(response.stages_size(), 1);
  EXPECT_EQ(response.stages(0).text(), "F0");
  EXPECT_EQ(response.stages(0).program_sha256(), assign.ranks(0).program_sha256());
  EXPECT_THAT(response.stages(0).ranks(), ElementsAre(0));
}

TEST(CheckListenAddress, AllowsLoopbackOnly) {
  for (const char* good : {"127.0.0.1:0", "127.1.2.3:80", "localhost:1", "[::1]:0", "unix:/x"}) {
    EXPECT_TRUE(CheckListenAddress(good).ok()) << good;
  }
  for (const char* bad : {"0.0.0.0:1", "10.0.0.1:1", "127.evil.com:1", ":1", "host:1", "none"}) {
    EXPECT_EQ(CheckListenAddress(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace trireme
