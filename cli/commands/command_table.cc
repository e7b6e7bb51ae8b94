// The table of verbs.
#include "cli/commands/commands.h"

namespace trireme {

std::vector<Command> AllCommands() {
  return {
      RunCommand(),
      PlanCommand(),
      SubmitCommand(),
      ListCommand(),
      StatusCommand(),
      LogsCommand(),
      MetricsCommand(),
      CancelCommand(),
      ScheduleCommand(),
      NodesCommand(),
      GenerateCommand(),
      VersionCommand(),
  };
}

}  // namespace trireme
