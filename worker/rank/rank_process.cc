// Start, listen, connect, train, report: the one place that turns messages into calls and results
// into messages.
#include "worker/rank/rank_process.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/base/log.h"
#include "common/plan/wire.h"
#include "kernels/ops/rule.h"
#include "worker/comm/bootstrap.h"
#include "worker/comm/flight_recorder.h"
#include "worker/rank/control.h"
#include "worker/rank/router_metrics.h"
#include "worker/rank/trainer.h"

// Of the OpenMP runtime that oneDNN and the kernels use; <omp.h> is not there with every compiler.
extern "C" void omp_set_num_threads(int num_threads);

namespace trireme {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitDaemonGone = 3;
constexpr int kDefaultCallTimeoutS = 600;

FabricLimit LimitOf(const v1::NetworkConfig::Limit& limit) {
  return {.bytes_per_s = limit.mbit_per_s() * 1e6 / 8, .latency_s = limit.latency_ms() * 1e-3};
}

// The communicator as two threads need it: the one that trains, and the one that aborts when the
// daemon is gone.
class SharedCommunicator {
 public:
  void Set(Communicator* communicator) {
    const std::lock_guard<std::mutex> lock(mutex_);
    communicator_ = communicator;
  }
  void Abort(const std::string& reason) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (communicator_ != nullptr) communicator_->Abort(reason);
  }

 private:
  std::mutex mutex_;
  Communicator* communicator_ = nullptr;  // guarded by mutex_
};

class RankProcess {
 public:
  explicit RankProcess(int fd) : control_(fd) {}

  int Run() {
    const StatusOr<int64_t> steps = Serve();
    finished_.store(true);
    if (steps.ok()) {
      v1::RankEvent event;
      event.mutable_done()->set_step(*steps);
      return control_.Send(event).ok() ? 0 : kExitDaemonGone;
    }
    shared_communicator_.Abort("rank " + std::to_string(start_.rank()) +
                               " failed: " + std::string(steps.status().message()));
    v1::RankEvent event;
    event.mutable_failed()->set_code(static_cast<int>(steps.status().code()));
    event.mutable_failed()->set_message(std::string(steps.status().message()));
    const bool told = control_.Send(event).ok();
    LOG(ERROR) << "rank failed job=" << start_.job() << " rank=" << start_.rank()
               << " reason=" << steps.status().message();
    shared_communicator_.Set(nullptr);
    return told ? kExitFailed : kExitDaemonGone;
  }

 private:
  StatusOr<int64_t> Serve() {
    RETURN_IF_ERROR(ReadStart());
    RETURN_IF_ERROR(Listen());
    RETURN_IF_ERROR(ConnectToPeers());
    control_.Watch([this](const std::string& reason) {
      if (finished_.load()) return;  // the daemon may close as soon as it has the last message
      shared_communicator_.Abort("rank " + std::to_string(start_.rank()) + ": " + reason);
      LOG(ERROR) << "rank ends job=" << start_.job() << " rank=" << start_.rank()
                 << " reason=" << reason;
      ::_exit(kExitDaemonGone);  // the training thread may be stuck
    });
    return RunTraining();
  }

  Status ReadStart() {
    ASSIGN_OR_RETURN(v1::RankCommand command, control_.Read());
    if (!command.has_start()) return InvalidArgument("the first command must be StartRank");
    start_ = std::move(*command.mutable_start());
    ASSIGN_OR_RETURN(program_,
                     ParseRankProgram(start_.program().SerializeAsString(), OpTableHash()));
    start_.clear_program();
    const int64_t num_ranks = program_.mesh.num_ranks();
    if (start_.num_ranks() != num_ranks || start_.rank() < 0 || start_.rank() >= num_ranks) {
      return InvalidArgument("rank " + std::to_string(start_.rank()) + " of " +
                             std::to_string(start_.num_ranks()) + " with a program for " +
                             std::to_string(num_ranks) + " ranks");
    }
    if (program_.stage_axis >= 0) {
      const int64_t stage = program_.mesh.Coordinates(start_.rank())[program_.stage_axis];
      if (stage != program_.program.stage) {
        return InvalidArgument("rank " + std::to_string(start_.rank()) + " is of stage " +
                               std::to_string(stage) + " but got the program of stage " +
                               std::to_string(program_.program.stage));
      }
    }
    omp_set_num_threads(num_threads());
    return absl::OkStatus();
  }

  Status Listen() {
    const std::string address =
        start_.listen_address().empty() ? "127.0.0.1" : start_.listen_address();
    const bool has_port = address.rfind(':') != std::string::npos;
    ASSIGN_OR_RETURN(Listener listener, Listener::Bind(has_port ? address : address + ":0"));
    listener_.emplace(std::move(listener));
    v1::RankEvent event;
    event.mutable_listening()->set_address(listener_->address());
    return control_.Send(event);
  }

  Status ConnectToPeers() {
    ASSIGN_OR_RETURN(const v1::RankCommand command, control_.Read());
    if (command.has_stop()) return Aborted("stopped before the ranks were connected");
    if (!command.has_connect()) return InvalidArgument("expected ConnectPeers or StopRank");
    CommunicatorOptions options;
    options.rank = start_.rank();
    options.peers.resize(start_.num_ranks());
    if (command.connect().peers_size() != start_.num_ranks()) {
      return InvalidArgument("ConnectPeers names " +
                             std::to_string(command.connect().peers_size()) + " of " +
                             std::to_string(start_.num_ranks()) + " ranks");
    }
    for (const v1::ConnectPeers::Peer& peer : command.connect().peers()) {
      if (peer.rank() < 0 || peer.rank() >= start_.num_ranks()) {
        return InvalidArgument("ConnectPeers names rank " + std::to_string(peer.rank()));
      }
      options.peers[peer.rank()] = {peer.worker(), peer.address(), peer.slice()};
    }
    options.listener = &*listener_;
    options.shared_path = start_.shared_segment();
    options.attempt = start_.attempt();
    options.token = start_.token();
    options.ici = LimitOf(start_.network().ici());
    options.dcn = LimitOf(start_.network().dcn());
    const int timeout_s =
        start_.call_timeout_s() > 0 ? start_.call_timeout_s() : kDefaultCallTimeoutS;
    options.call_deadline = std::chrono::seconds(timeout_s);
    if (!start_.flight_recorder().empty()) {
      ASSIGN_OR_RETURN(recorder_, FlightRecorder::Create(start_.flight_recorder(), start_.rank()));
      options.recorder = recorder_.get();
    }
    ASSIGN_OR_RETURN(communicator_, Connect(options));
    listener_.reset();
    shared_communicator_.Set(communicator_.get());
    return absl::OkStatus();
  }

  StatusOr<int64_t> RunTraining() {
    const v1::DataConfig& data = start_.data();
    const TrainerOptions options = {
        .job = start_.job(),
        .attempt = start_.attempt(),
        .rank = start_.rank(),
        .num_threads = num_threads(),
        .data = {.paths = {data.paths().begin(), data.paths().end()},
                 .tokenizer = data.tokenizer().empty() ? "bytes" : data.tokenizer(),
                 .cache_folder = data.cache_folder()},
        .checkpoint_path = start_.checkpoint().path(),
        .checkpoint_every = start_.checkpoint().every(),
        .checkpoint_load = start_.checkpoint().load(),
        .trace_path = start_.trace().path(),
        .trace_first_step = start_.trace().first_step(),
        .trace_steps = start_.trace().steps()};
    const TrainerEvents events = {
        .ready =
            [this](int64_t first_step, int64_t arena, int64_t parameters) {
              v1::RankEvent event;
              event.mutable_ready()->set_first_step(first_step);
              event.mutable_ready()->set_arena_bytes(arena);
              event.mutable_ready()->set_parameter_bytes(parameters);
              return control_.Send(event);
            },
        .step = [this](const StepReport& report) { return SendStep(report); },
        .checkpoint =
            [this](int64_t step, const std::string& folder, int64_t bytes) {
              v1::RankEvent event;
              event.mutable_checkpoint()->set_step(step);
              event.mutable_checkpoint()->set_folder(folder);
              event.mutable_checkpoint()->set_bytes(bytes);
              return control_.Send(event);
            },
        .stop_requested = [this] { return control_.stop_requested(); }};
    return Train(options, program_, communicator_.get(), events);
  }

  Status SendStep(const StepReport& report) {
    v1::RankEvent event;
    v1::StepMetrics& metrics = *event.mutable_step();
    metrics.set_step(report.step);
    metrics.set_loss(report.result.loss);
    metrics.set_grad_norm(report.result.grad_norm);
    metrics.set_learning_rate(report.result.learning_rate);
    metrics.set_tokens(report.result.tokens);
    metrics.set_duration_s(report.duration_s);
    metrics.set_tokens_per_second(report.duration_s > 0 ? report.result.tokens / report.duration_s
                                                        : 0);
    metrics.set_ici_bytes(report.bytes.ici);
    metrics.set_dcn_bytes(report.bytes.dcn);
    AddRouterMetrics(program_.program.scalars, report.result, metrics);
    return control_.Send(event);
  }

  int num_threads() const { return start_.num_threads() > 0 ? start_.num_threads() : 1; }

  v1::StartRank start_;
  RankProgram program_;
  std::optional<Listener> listener_;
  std::unique_ptr<FlightRecorder> recorder_;
  std::unique_ptr<Communicator> communicator_;
  SharedCommunicator shared_communicator_;
  std::atomic<bool> finished_{false};
  Control control_;  // last: its thread uses what stands above
};

}  // namespace

int RunRank(int fd) { return RankProcess(fd).Run(); }

}  // namespace trireme
