// trireme plan: what a job would be, without running it.
#include "coordinator/planner/planner.h"

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/job_file.h"
#include "common/config/parse.h"
#include "coordinator/planner/report.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

// What was asked for, one text after the other; the summary when nothing was.
class Texts {
 public:
  void Add(const std::string& text) { text_ += (text_.empty() ? "" : "\n") + text; }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

int PrintOffline(const Plan& plan, const DeviceKind& device, const Args& args, Context& context) {
  Texts texts;
  if (args.json()) texts.Add(PlanToJson(plan, device));
  if (!args.json()) {
    if (args.Has("explain")) texts.Add(PlanExplain(plan, device));
    if (args.Has("program")) texts.Add(PlanProgram(plan));
    if (args.Has("schedule")) texts.Add(PlanSchedule(plan));
    if (args.Has("grid")) texts.Add(PlanGrid(plan));
    if (args.Has("rank")) {
      const auto rank = args.GetInt("rank", 0, 0, static_cast<int64_t>(plan.ranks.size()) - 1);
      if (!rank.ok()) return Fail(rank.status(), context);
      const auto text = PlanRank(plan, *rank);
      if (!text.ok()) return Fail(text.status(), context);
      texts.Add(*text);
    }
    if (texts.empty()) texts.Add(PlanSummary(plan, device));
  }
  context.out << texts.text();
  const Status fits = CheckFits(plan, device);
  return fits.ok() ? kExitOk : FailAs(kExitDoesNotFit, fits, context);
}

int PlanOffline(const JobSpec& spec, const Args& args, Context& context) {
  const auto topology = LoadFleet(args.Get("fleet"));
  if (!topology.ok()) return Fail(topology.status(), context);
  const auto plan = PlanJob(spec, *topology);
  if (!plan.ok()) return FailAs(kExitDoesNotFit, plan.status(), context);
  return PrintOffline(*plan, topology->device, args, context);
}

int PlanOnline(const JobSpec& spec, const Args& args, Context& context) {
  if (args.Has("rank")) {
    return Fail(InvalidArgument("--rank needs --fleet: a rank's page is made offline"), context);
  }
  v1::PlanJobRequest request;
  request.set_job_text(JobToJson(spec));
  request.set_file(args.positional()[0]);
  request.set_explain(args.Has("explain"));
  request.set_program(args.Has("program"));
  request.set_schedule(args.Has("schedule"));
  request.set_grid(args.Has("grid"));
  Client client(CoordinatorAddress(args, context));
  const auto response = client.PlanJob(request);
  if (absl::IsInvalidArgument(response.status())) {
    return FailAs(kExitDoesNotFit, response.status(), context);
  }
  if (!response.ok()) return Fail(response.status(), context);
  Texts texts;
  if (args.json()) {
    texts.Add(response->plan_json());
  } else {
    for (const std::string* text : {&response->explain_text(), &response->program_text(),
                                    &response->schedule_text(), &response->grid_text()}) {
      if (!text->empty()) texts.Add(*text);
    }
    if (texts.empty()) texts.Add(response->summary_text());
  }
  context.out << texts.text();
  const auto json = nlohmann::json::parse(response->plan_json(), nullptr, false);
  if (json.is_object() && json.value("fits", true)) return kExitOk;
  return FailAs(kExitDoesNotFit, ResourceExhausted("the job does not fit; the plan says by how much"),
                context);
}

int RunPlan(const Args& args, Context& context) {
  const auto spec = LoadJob(args.positional()[0], args.All("set"), context.current_folder);
  if (!spec.ok()) return Fail(spec.status(), context);
  if (args.Has("fleet") && args.Has("coordinator")) {
    return Fail(InvalidArgument("give --fleet or --coordinator, not both"), context);
  }
  if (args.Has("fleet")) return PlanOffline(*spec, args, context);
  if (!args.Has("coordinator") && context.coordinator.empty()) {
    return Fail(InvalidArgument("plan for which devices? --fleet FILE plans offline, --coordinator "
                                "HOST:PORT for a live cluster"),
                context);
  }
  return PlanOnline(*spec, args, context);
}

}  // namespace

Command PlanCommand() {
  return {"plan",
          "JOB.yaml",
          "Show what a job would be: mesh, shards, memory, communication. Runs nothing.",
          "A fleet is a file, or the text itself: {device: h100, slices: 2, hosts_per_slice: 4,\n"
          "devices_per_host: 8}. Devices: cpu, a100-80, h100, h200, b200. Times are predicted from\n"
          "the program that would run and the speeds of the device; a fleet may give better ones:\n"
          "flops, bytes_per_s, launch_us, ici: {gbyte_per_s, latency_us}, dcn: {...}.\n"
          "Exit code 7 when it does not fit or cannot be sharded so.\n"
          "With -o json, one object: mesh.axes, ranks, parameters, memory (bytes of each rank),\n"
          "collectives (of one rank and step), prediction (seconds), reasons, fits.\n\n"
          "Examples:\n"
          "  trireme plan job.yaml --fleet '{device: cpu, slices: 1, hosts_per_slice: 1, "
          "devices_per_host: 4}'\n"
          "  trireme plan job.yaml --fleet fleet.yaml --explain\n"
          "  trireme plan job.yaml --fleet fleet.yaml --grid\n"
          "  trireme plan job.yaml --coordinator 127.0.0.1:7700 -o json\n",
          {CoordinatorFlag(),
           {"fleet", "FILE", "Plan offline for these devices.", 0, false, {}},
           {"set", "KEY=VALUE", "Override a key of the job file; may be repeated.", 0, true, {}},
           {"explain", "", "Why every shard and every collective is as it is.", 0, false, {}},
           {"program", "", "The program of every stage.", 0, false, {}},
           {"schedule", "", "The step of every stage.", 0, false, {}},
           {"grid", "", "Stages x predicted time, and what each stage does in a step.", 0, false, {}},
           {"rank", "N", "What rank N holds.", 0, false, {}}},
          1,
          RunPlan};
}

}  // namespace trireme
