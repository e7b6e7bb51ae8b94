// A verb of the command line: what it is called, what it takes, what it says about itself, and what it does.
#ifndef TRIREME_CLI_COMMAND_H_
#define TRIREME_CLI_COMMAND_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/exit_code.h"

namespace trireme {

// The world as a verb sees it: where it prints, and what the environment said.
struct Context {
  std::ostream& out;  // data
  std::ostream& err;  // narration and errors
  bool out_is_terminal = false;
  std::string coordinator;       // TRIREME_COORDINATOR, or ""
  std::string program_folder;    // where trireme-coordinator and trireme-worker are
  std::string current_folder;    // relative paths of job files start here
};

struct Command {
  std::string name;
  std::string arguments;  // "JOB.yaml"; "" = none
  std::string synopsis;   // one line for the list of verbs
  std::string help;       // paragraphs below the usage line, with examples
  std::vector<FlagSpec> flags;  // besides --help and -o
  int num_arguments = 0;  // that it needs; more are an error
  std::function<int(const Args& args, Context& context)> run;  // returns an ExitCode
};

// "Usage: trireme plan JOB.yaml [flags]" and everything about the verb.
std::string HelpText(const Command& command);

// Finds the verb, parses its flags, runs it. `words` are without the program's name.
int RunCommandLine(const std::vector<std::string>& words, const std::vector<Command>& commands,
                   Context& context);

// Prints "trireme: <message>" and returns the exit code of the error.
int Fail(const Status& status, Context& context);
int FailAs(ExitCode code, const Status& status, Context& context);

// The flag of every verb that speaks to a coordinator, and its value: the flag, TRIREME_COORDINATOR, or the default.
FlagSpec CoordinatorFlag();
std::string CoordinatorAddress(const Args& args, const Context& context);

}  // namespace trireme

#endif  // TRIREME_CLI_COMMAND_H_
