// trireme submit: hands a job to the coordinator and follows it.
#include <unistd.h>

#include <cstdint>
#include <random>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/job_file.h"
#include "cli/job_record.h"
#include "cli/job_view.h"
#include "common/config/parse.h"

namespace trireme {
namespace {

// Names this request, so that sending it twice creates one job.
std::string NewRequestId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 8; ++i) id += "0123456789abcdef"[random() % 16];
  return id + "-" + std::to_string(getpid()) + "-" + std::to_string(random());
}

int FollowSubmitted(Client& client, const JobSpec& spec, const std::string& name, bool json,
                    Context& context) {
  Interrupt interrupt([&](int) { client.CancelStreams(); });
  FollowOptions options;
  options.json = json;
  options.on_broken_output = [&] { client.CancelStreams(); };
  const auto job = FollowJob(client, name, options, context);
  if (absl::IsCancelled(job.status())) {
    const std::string id = BareName(name);
    context.err << "detached; the job goes on. Follow it with `trireme metrics " << id
                << " --follow`, stop it with `trireme cancel " << id << "`." << std::endl;
    return kExitInterrupted;
  }
  if (!job.ok()) return Fail(job.status(), context);
  RecordJob(spec, *job);
  return ReportEnd(*job, context);
}

int RunSubmit(const Args& args, Context& context) {
  const auto spec =
      LoadJob(args.positional()[0], args.All("set"), context.current_folder);
  if (!spec.ok()) return Fail(spec.status(), context);
  v1::CreateJobRequest request;
  request.set_job_text(JobToJson(*spec));
  request.set_file(args.positional()[0]);
  request.set_request_id(args.Get("request-id", NewRequestId()));
  Client client(CoordinatorAddress(args, context));
  const auto job = client.CreateJob(request);
  if (absl::IsInvalidArgument(job.status())) return FailAs(kExitDoesNotFit, job.status(), context);
  if (!job.ok()) return Fail(job.status(), context);
  context.out << (args.json() ? JobJson(*job) : BareName(job->name())) << std::endl;
  if (args.Has("detach")) return kExitOk;
  return FollowSubmitted(client, *spec, job->name(), args.json(), context);
}

}  // namespace

Command SubmitCommand() {
  return {"submit",
          "JOB.yaml",
          "Hand a job to the coordinator and follow it.",
          "The file is checked here first; a bad one reaches nobody. Relative paths in it start at\n"
          "the current folder and must mean the same files on the workers. Prints the job's id, then\n"
          "its steps; states go to standard error. Ctrl-C detaches: the job goes on.\n"
          "With -o json, the first line is the job, every other a step as `trireme metrics` prints it.\n\n"
          "Examples:\n  trireme submit job.yaml\n  trireme submit job.yaml --set train.steps=10 --detach\n",
          {CoordinatorFlag(),
           {"set", "KEY=VALUE", "Override a key of the job file; may be repeated.", 0, true, {}},
           {"detach", "", "Print the id and return.", 'd', false, {}},
           {"request-id", "TEXT", "Name of this request: sending it again creates nothing new.", 0,
            false, {}}},
          1,
          RunSubmit};
}

}  // namespace trireme
