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
          "num_ranks, step, total_steps, loss, router_warnings, checkpoint_step,\n"
          "checkpoint_folder, hosts, create_time, start_time, end_time, plan_summary, spec.\n\n"
          "A job with experts shows a warning when over the last 20 steps one of them gets more\n"
          "than twice the mean load of its layer, or nothing, or more than 1 % of the assignments\n"
          "of a layer are dropped. router_warnings has kind (OVERLOADED, STARVED, DROPPED), layer,\n"
          "expert, figure (times the mean; experts that got nothing; fraction dropped), steps and\n"
          "text.\n\n"
          "Example:\n  trireme status tiny-1\n",
          {CoordinatorFlag()},
          1,
          RunStatus};
}

}  // namespace trireme
