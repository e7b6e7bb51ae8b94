// trireme schedule: the step schedules that were pushed to a job's ranks.
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "coordinator/planner/text_table.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

std::string ScheduleJson(const v1::GetScheduleResponse& response) {
  Json stages = Json::array();
  for (const v1::StageSchedule& stage : response.stages()) {
    stages.push_back({{"stage", stage.stage()},
                      {"schedule", stage.text()},
                      {"program_sha256", stage.program_sha256()},
                      {"ranks", std::vector<int>(stage.ranks().begin(), stage.ranks().end())}});
  }
  return Json{{"id", BareName(response.name())}, {"attempt", response.attempt()},
              {"stages", stages}}
      .dump();
}

std::string ScheduleText(const v1::GetScheduleResponse& response) {
  std::string text = BareName(response.name()) + " attempt " + std::to_string(response.attempt()) +
                     "\n";
  for (const v1::StageSchedule& stage : response.stages()) {
    const std::vector<int64_t> ranks(stage.ranks().begin(), stage.ranks().end());
    text += "stage " + std::to_string(stage.stage()) + ", ranks " + RunsText(ranks) + ", program " +
            stage.program_sha256().substr(0, 12) + ": " + stage.text() + "\n";
  }
  return text;
}

int RunSchedule(const Args& args, Context& context) {
  Client client(CoordinatorAddress(args, context));
  const auto schedule = client.GetSchedule(args.positional()[0]);
  if (!schedule.ok()) return Fail(schedule.status(), context);
  context.out << (args.json() ? ScheduleJson(*schedule) + "\n" : ScheduleText(*schedule));
  return kExitOk;
}

}  // namespace

Command ScheduleCommand() {
  return {"schedule",
          "JOB",
          "Show the step schedules that the ranks of a job were given.",
          "G gather once a step, F forward and B backward of a microbatch, > and < send and receive\n"
          "(f activations, b gradients), U1 finish gradients, U2 update.\n"
          "With -o json, one object: id, attempt, stages [{stage, schedule, program_sha256, ranks}].\n\n"
          "Example:\n  trireme schedule tiny-1\n",
          {CoordinatorFlag()},
          1,
          RunSchedule};
}

}  // namespace trireme
