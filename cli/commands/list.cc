// trireme list: all jobs, newest first.
#include <algorithm>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/job_view.h"
#include "cli/progress.h"
#include "coordinator/planner/text_table.h"

namespace trireme {
namespace {

constexpr int kMaxJobs = 1000;

StatusOr<std::vector<v1::Job>> FetchJobs(Client& client, const v1::ListJobsRequest& first) {
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest request = first;
  while (jobs.size() < kMaxJobs) {
    ASSIGN_OR_RETURN(const v1::ListJobsResponse response, client.ListJobs(request));
    jobs.insert(jobs.end(), response.jobs().begin(), response.jobs().end());
    if (response.next_page_token().empty()) break;
    request.set_page_token(response.next_page_token());
  }
  return jobs;
}

// Errors: kInvalidArgument listing the states.
Status AddState(const std::string& text, v1::ListJobsRequest* request) {
  std::string name = text;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  v1::Job::State state = v1::Job::STATE_UNSPECIFIED;
  if (!v1::Job::State_Parse(name, &state) || state == v1::Job::STATE_UNSPECIFIED) {
    return InvalidArgument("--state: expected one of queued, starting, running, recovering, "
                           "cancelling, succeeded, failed, cancelled, got \"" + Printable(text) +
                           "\"");
  }
  request->add_states(state);
  return absl::OkStatus();
}

std::string JobTable(const std::vector<v1::Job>& jobs) {
  if (jobs.empty()) return "no jobs; start one with: trireme submit JOB.yaml\n";
  TextTable table({"job", "state", "step", "of", "loss", "ranks", "why"});
  for (const v1::Job& job : jobs) {
    char loss[32] = "-";
    if (job.step() > 0) std::snprintf(loss, sizeof(loss), "%.4f", job.loss());
    constexpr size_t kMaxReason = 60;
    std::string reason = Printable(job.reason());
    if (reason.size() > kMaxReason) reason = reason.substr(0, kMaxReason - 3) + "...";
    table.AddRow({BareName(job.name()), StateText(job.state(), job.sub_phase()),
                  std::to_string(job.step()), std::to_string(job.total_steps()), loss,
                  std::to_string(job.num_ranks()), reason});
  }
  return table.ToText();
}

int RunList(const Args& args, Context& context) {
  v1::ListJobsRequest request;
  request.set_display_name(args.Get("name"));
  for (const std::string& state : args.All("state")) {
    const Status status = AddState(state, &request);
    if (!status.ok()) return Fail(status, context);
  }
  Client client(CoordinatorAddress(args, context));
  const auto jobs = FetchJobs(client, request);
  if (!jobs.ok()) return Fail(jobs.status(), context);
  if (args.json()) {
    for (const v1::Job& job : *jobs) context.out << JobJson(job) << "\n";
  } else {
    context.out << JobTable(*jobs);
  }
  return kExitOk;
}

}  // namespace

Command ListCommand() {
  return {"list",
          "",
          "Show all jobs, newest first.",
          "With -o json, one object a line, as `trireme status -o json` prints it (without spec and\n"
          "plan_summary). At most 1000 jobs.\n\n"
          "Example:\n  trireme list --state running --state queued\n",
          {CoordinatorFlag(),
           {"state", "STATE", "Only jobs in this state; may be repeated.", 0, true, {}},
           {"name", "NAME", "Only jobs with this `name:` in their job file.", 0, false, {}}},
          0,
          RunList};
}

}  // namespace trireme
