// trireme run: a whole job in one command, on a throwaway cluster of this machine.
#include <algorithm>
#include <mutex>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/job_file.h"
#include "cli/job_record.h"
#include "cli/local_cluster.h"
#include "common/config/parse.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/report.h"

namespace trireme {
namespace {

constexpr int kReadyTimeoutS = 30;

StatusOr<Topology> ReadTopology(const Args& args, const JobSpec& spec) {
  ASSIGN_OR_RETURN(const int64_t hosts, args.GetInt("hosts", 1, 1, 64));
  const int64_t needed = DevicesOfMesh(spec);
  ASSIGN_OR_RETURN(const int64_t devices,
                   args.GetInt("devices-per-host", std::max<int64_t>(1, needed / hosts), 1, 64));
  ASSIGN_OR_RETURN(const int64_t slices, args.GetInt("slices", 1, 1, hosts));
  return LocalTopology(hosts, devices, slices);
}

// What Ctrl-C finds: before the job exists it only counts, then the first cancels the job, which is followed to its
// end, and the second stops everything now.
class Session {
 public:
  explicit Session(Context& context) : context_(context) {}

  int interrupts() const { return interrupt_.count(); }
  void Raise() {
    if (interrupts() == 0) interrupt_.Raise();
  }

  // From now on `client` and the job are there to be cancelled; `client` until Close.
  void Open(Client& client, const std::string& job) {
    std::lock_guard<std::mutex> lock(mutex_);
    client_ = &client;
    job_ = job;
    if (interrupts() > 0) Cancel();
  }
  void Close() {
    std::lock_guard<std::mutex> lock(mutex_);
    client_ = nullptr;
  }

 private:
  void OnInterrupt(int count) {
    std::lock_guard<std::mutex> lock(mutex_);
    context_.err << "\nstopping" << (count == 1 ? " (Ctrl-C again to stop at once)" : "") << std::endl;
    if (client_ == nullptr) return;
    if (count == 1) {
      Cancel();
    } else {
      client_->CancelStreams();
    }
  }

  void Cancel() {
    if (!client_->CancelJob(job_, "interrupted").ok()) client_->CancelStreams();
  }

  Context& context_;
  std::mutex mutex_;
  Client* client_ = nullptr;  // guarded by mutex_, as is job_
  std::string job_;
  Interrupt interrupt_{[this](int count) { OnInterrupt(count); }};  // last: its thread uses the above
};

// Errors: whatever kept the job from being followed to its end.
StatusOr<v1::Job> FollowOnCluster(const JobSpec& spec, const Args& args, LocalCluster& cluster,
                                  Session& session, Context& context) {
  Client client(cluster.address());
  RETURN_IF_ERROR(cluster.WaitUntilReady(client, kReadyTimeoutS,
                                         [&] { return session.interrupts() > 0; }));
  v1::CreateJobRequest request;
  request.set_job_text(JobToJson(spec));
  request.set_file(args.positional()[0]);
  ASSIGN_OR_RETURN(const v1::Job created, client.CreateJob(request));
  session.Open(client, created.name());
  FollowOptions options;
  options.json = args.json();
  options.on_broken_output = [&] { session.Raise(); };
  auto job = FollowJob(client, created.name(), options, context);
  session.Close();
  if (job.ok()) RecordJob(spec, *job);
  return job;
}

int RunOnCluster(const JobSpec& spec, const Topology& topology, const Args& args,
                 Context& context) {
  Session session(context);
  auto cluster = LocalCluster::Start(topology, context.program_folder);
  if (!cluster.ok()) return FailAs(kExitFailed, cluster.status(), context);
  const auto job = FollowOnCluster(spec, args, **cluster, session, context);
  if (session.interrupts() > 0) {
    cluster->reset();
    context.err << "stopped; nothing is left running" << std::endl;
    return kExitInterrupted;
  }
  const int code = job.ok() ? ReportEnd(*job, context) : kExitFailed;
  if (code != kExitOk) context.err << "last words of the programs:\n" << (*cluster)->LogTails();
  return job.ok() ? code : FailAs(kExitFailed, job.status(), context);
}

int RunRun(const Args& args, Context& context) {
  const std::string& file = args.positional()[0];
  const auto spec = LoadJob(file, args.All("set"), context.current_folder);
  if (!spec.ok()) return Fail(spec.status(), context);
  const auto topology = ReadTopology(args, *spec);
  if (!topology.ok()) return Fail(topology.status(), context);
  const Status data = CheckDataFiles(*spec, file);
  if (!data.ok()) return Fail(data, context);
  const auto plan = PlanJob(*spec, *topology);
  if (!plan.ok()) return FailAs(kExitDoesNotFit, plan.status(), context);
  context.err << PlanSummary(*plan, topology->device) << std::endl;
  return RunOnCluster(*spec, *topology, args, context);
}

}  // namespace

Command RunCommand() {
  return {"run",
          "JOB.yaml",
          "Run a whole job on this machine: starts a throwaway cluster, trains, stops everything.",
          "Starts a coordinator and --hosts workers with --devices-per-host CPU devices each on\n"
          "loopback, submits the job, follows it, and leaves nothing behind but its checkpoints.\n"
          "Relative paths in the file start at the current folder. Ctrl-C cancels the job.\n"
          "Steps go to standard output, states and the plan to standard error. With -o json, one\n"
          "object a step: step, train/loss, grad_norm, optim/learning_rate,\n"
          "throughput/tokens_per_second, throughput/duration (seconds), communication/ici_bytes,\n"
          "communication/dcn_bytes (sent by the reporting rank); for models with experts also the\n"
          "numbers that `trireme metrics --help` names.\n\n"
          "Examples:\n  trireme run job.yaml\n"
          "  trireme run job.yaml --hosts 2 --devices-per-host 2 --set mesh.axes.model=2 -o json\n",
          {{"hosts", "N", "Workers to start (default: 1).", 0, false, {}},
           {"devices-per-host", "M", "CPU devices of each (default: as many as the mesh names).", 0,
            false, {}},
           {"slices", "S", "Slices that the hosts are spread over (default: 1).", 0, false, {}},
           {"set", "KEY=VALUE", "Override a key of the job file; may be repeated.", 0, true, {}}},
          1,
          RunRun};
}

}  // namespace trireme
