// trireme status: one screen about a job.
#include <ctime>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/job_view.h"

namespace trireme {
namespace {

int RunStatus(const Args& args, Context& context) {
  Client client(CoordinatorAddress(args, context));
  const auto job = client.GetJob(args.positional()[0]);
  if (!job.ok()) return Fail(job.status(), context);
  if (args.json()) {
    context.out << JobJson(*job) << "\n";
  } else {
    context.out << JobScreen(*job, std::time(nullptr));
  }
  return kExitOk;
}

}  // namespace

Command StatusCommand() {
  return {"status",
          "JOB",
          "Show one job: its state, why, how far, and what to do next.",
          "With -o json, one object: id, name, display_name, state, sub_phase, reason, attempt,\n"
          "num_ranks, step, total_steps, loss, checkpoint_step, checkpoint_folder, hosts,\n"
          "create_time, start_time, end_time, plan_summary, spec.\n\n"
          "Example:\n  trireme status tiny-1\n",
          {CoordinatorFlag()},
          1,
          RunStatus};
}

}  // namespace trireme
