// A coordinator that answers what a test told it to, over real gRPC on a free port of loopback.
#ifndef TRIREME_CLI_TESTING_FAKE_COORDINATOR_H_
#define TRIREME_CLI_TESTING_FAKE_COORDINATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "trireme/v1/jobs.pb.h"
#include "trireme/v1/plans.pb.h"
#include "trireme/v1/workers.pb.h"

namespace trireme {

// What it knows. Fill it before calls are made.
struct FakeAnswers {
  v1::Job job;                             // CreateJob, GetJob, CancelJob; the last snapshot of WatchJob
  std::vector<v1::JobEvent> events;        // WatchJob
  std::vector<v1::StepMetrics> steps;      // StreamMetrics
  std::vector<v1::LogLine> logs;           // TailLogs
  std::vector<v1::Job> jobs;               // ListJobs, one a page
  std::vector<v1::Node> nodes;
  v1::PlanJobResponse plan;
  v1::GetScheduleResponse schedule;
  int break_streams = 0;  // so many streams end with UNAVAILABLE after one message
  bool hold_streams = false;  // streams send all and then wait for the client to leave
};

// What it was asked.
struct FakeRequests {
  v1::CreateJobRequest create;
  v1::PlanJobRequest plan;
  v1::CancelJobRequest cancel;
  v1::TailLogsRequest logs;
  v1::StreamMetricsRequest metrics;
};

// Jobs other than answers.job.name() are NOT_FOUND.
class FakeCoordinator {
 public:
  explicit FakeCoordinator(FakeAnswers answers);
  ~FakeCoordinator();

  const std::string& address() const { return address_; }
  // The newest request of each kind. Read it when no call is under way.
  const FakeRequests& requests() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  std::string address_;
};

// A job called "jobs/tiny-1" that ran two steps, with events and metrics.
FakeAnswers FinishedJob();

}  // namespace trireme

#endif  // TRIREME_CLI_TESTING_FAKE_COORDINATOR_H_
