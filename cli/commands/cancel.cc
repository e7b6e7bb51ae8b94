// trireme cancel: asks a job to stop.
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/job_view.h"

namespace trireme {
namespace {

int RunCancel(const Args& args, Context& context) {
  Client client(CoordinatorAddress(args, context));
  const auto job = client.CancelJob(args.positional()[0], args.Get("reason", "asked for by a user"));
  if (!job.ok()) return Fail(job.status(), context);
  if (args.json()) {
    context.out << JobJson(*job) << "\n";
  } else {
    context.out << BareName(job->name()) << " is "
                << StateText(job->state(), job->sub_phase()) << "\n";
  }
  return kExitOk;
}

}  // namespace

Command CancelCommand() {
  return {"cancel",
          "JOB",
          "Stop a job.",
          "Returns at once. A waiting job is CANCELLED; a running one is CANCELLING until its ranks\n"
          "have finished the step they are in and left. Checkpoints stay.\n\n"
          "Example:\n  trireme cancel tiny-1 --reason \"wrong learning rate\"\n",
          {CoordinatorFlag(), {"reason", "TEXT", "Why; kept with the job.", 0, false, {}}},
          1,
          RunCancel};
}

}  // namespace trireme
