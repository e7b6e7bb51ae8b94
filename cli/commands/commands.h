// The verbs. Adding one: a file here that defines its function, a line below, a line in command_table.cc.
#ifndef TRIREME_CLI_COMMANDS_COMMANDS_H_
#define TRIREME_CLI_COMMANDS_COMMANDS_H_

#include <vector>

#include "cli/command.h"

namespace trireme {

Command CancelCommand();
Command GenerateCommand();
Command ListCommand();
Command LogsCommand();
Command MetricsCommand();
Command NodesCommand();
Command PlanCommand();
Command RunCommand();
Command ScheduleCommand();
Command StatusCommand();
Command SubmitCommand();
Command VersionCommand();

// All of them, in the order of the help.
std::vector<Command> AllCommands();

}  // namespace trireme

#endif  // TRIREME_CLI_COMMANDS_COMMANDS_H_
