// Two streams, two threads, one printer.
#include "cli/follow.h"

#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include "cli/args.h"
#include "cli/job_view.h"
#include "cli/progress.h"

namespace trireme {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLinePause{5};

// A terminal gets one line that is written over; anything else gets the first and the last step, and a line
// each kLinePause between.
class Printer {
 public:
  Printer(const FollowOptions& options, Context& context) : options_(options), context_(context) {}

  void SetTotalSteps(int64_t total_steps) {
    std::lock_guard<std::mutex> lock(mutex_);
    total_steps_ = total_steps;
  }

  void Event(const v1::JobEvent& event) {
    std::lock_guard<std::mutex> lock(mutex_);
    ClearLine();
    const std::time_t time = event.time().seconds();
    std::tm parts{};
    localtime_r(&time, &parts);
    char clock[16];
    std::strftime(clock, sizeof(clock), "%H:%M:%S", &parts);
    context_.err << clock << "  " << StateText(event.state(), event.sub_phase()) << "  "
                 << Printable(event.reason()) << std::endl;
  }

  void Step(const v1::StepMetrics& step) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (options_.json) {
      context_.out << StepJson(step) << "\n" << std::flush;
    } else if (context_.out_is_terminal) {
      // Cut at the edge of the terminal: a line that went on in the next could not be written over.
      context_.out << "\r\033[K\033[?7l" << StepLine(step, total_steps_) << "\033[?7h"
                   << std::flush;
      line_is_open_ = true;
    } else {
      PrintNowAndThen(step);
    }
    if (!context_.out && options_.on_broken_output) options_.on_broken_output();
  }

  void Finish() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (line_is_open_) context_.out << std::endl;
    line_is_open_ = false;
  }

 private:
  void PrintNowAndThen(const v1::StepMetrics& step) {
    const Clock::time_point now = Clock::now();
    const bool is_edge = step.step() == total_steps_ || last_print_ == Clock::time_point();
    if (!is_edge && now - last_print_ < kLinePause) return;
    last_print_ = now;
    context_.out << StepLine(step, total_steps_) << std::endl;
  }

  void ClearLine() {
    if (!line_is_open_) return;
    context_.out << std::endl;
    line_is_open_ = false;
  }

  const FollowOptions& options_;
  Context& context_;
  std::mutex mutex_;
  int64_t total_steps_ = 0;
  bool line_is_open_ = false;
  Clock::time_point last_print_;
};

// Calls `stream` until it ends well, gives up when nothing came for `give_up_s`. `stream` sets *progress when it heard
// something.
Status Retry(int give_up_s, const std::function<Status(bool* progress)>& stream) {
  Clock::time_point last = Clock::now();
  std::chrono::milliseconds pause(100);
  while (true) {
    bool progress = false;
    const Status status = stream(&progress);
    if (status.code() != absl::StatusCode::kUnavailable) return status;
    if (progress) {
      last = Clock::now();
      pause = std::chrono::milliseconds(100);
    }
    if (Clock::now() - last > std::chrono::seconds(give_up_s)) return status;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(2000));
  }
}

Status FollowMetrics(Client& client, const std::string& name, const FollowOptions& options,
                     Printer& printer) {
  v1::StreamMetricsRequest request;
  request.set_name(name);
  request.set_follow(true);
  return Retry(options.give_up_s, [&](bool* progress) {
    return client.StreamMetrics(request, [&](const v1::StreamMetricsResponse& response) {
      *progress = true;
      if (response.has_step()) {
        printer.Step(response.step());
        request.set_from_step(response.step().step() + 1);
      }
      return true;
    });
  });
}

}  // namespace

StatusOr<v1::Job> FollowJob(Client& client, const std::string& name, const FollowOptions& options,
                            Context& context) {
  Printer printer(options, context);
  ASSIGN_OR_RETURN(v1::Job job, client.GetJob(name));
  printer.SetTotalSteps(job.total_steps());
  Status metrics_status;
  std::thread metrics(
      [&] { metrics_status = FollowMetrics(client, name, options, printer); });
  v1::WatchJobRequest request;
  request.set_name(name);
  const Status status = Retry(options.give_up_s, [&](bool* progress) {
    return client.WatchJob(request, [&](const v1::WatchJobResponse& response) {
      *progress = true;
      if (response.has_event()) printer.Event(response.event());
      if (response.has_snapshot()) job = response.snapshot();
      if (response.revision() > 0) request.set_after_revision(response.revision());
      return true;
    });
  });
  if (!status.ok()) client.CancelStreams();
  metrics.join();
  printer.Finish();
  RETURN_IF_ERROR(status);
  if (!HasEnded(job.state())) return Internal("the coordinator ended the stream of a live job");
  return job;
}

int ReportEnd(const v1::Job& job, Context& context) {
  const double seconds = static_cast<double>(job.end_time().seconds() - job.start_time().seconds());
  context.err << BareName(job.name()) << " " << v1::Job::State_Name(job.state());
  if (job.has_start_time()) context.err << " in " << HumanDuration(seconds);
  context.err << " at step " << WithCommas(job.step());
  if (job.state() != v1::Job::SUCCEEDED) context.err << ": " << Printable(job.reason());
  context.err << std::endl;
  if (job.checkpoint_step() > 0) {
    context.err << "checkpoint of step " << WithCommas(job.checkpoint_step()) << ": "
                << Printable(job.checkpoint_folder()) << std::endl;
  }
  return job.state() == v1::Job::SUCCEEDED ? kExitOk : kExitFailed;
}

}  // namespace trireme
