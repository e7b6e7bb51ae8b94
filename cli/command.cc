// Finding a verb, its help, and running it.
#include "cli/command.h"

#include <algorithm>

#include "common/config/values.h"

namespace trireme {
namespace {

constexpr char kDefaultCoordinator[] = "127.0.0.1:7700";

std::vector<FlagSpec> AllFlags(const Command& command) {
  std::vector<FlagSpec> flags = command.flags;
  flags.push_back({"output", "json|text", "Form of the output; text is for people, json for scripts "
                   "(streams print one object a line).", 'o', false, {"json", "text"}});
  flags.push_back({"help", "", "Print this and do nothing.", 'h', false, {}});
  return flags;
}

std::string Overview(const std::vector<Command>& commands) {
  std::string text =
      "Trireme trains language models on many devices.\n\n"
      "Usage: trireme VERB [arguments] [flags]\n\nVerbs:\n";
  size_t width = 0;
  for (const Command& command : commands) width = std::max(width, command.name.size());
  for (const Command& command : commands) {
    text += "  " + command.name + std::string(width - command.name.size() + 2, ' ') +
            command.synopsis + "\n";
  }
  text +=
      "\n`trireme VERB --help` tells more of a verb. Start with `trireme run JOB.yaml`: it needs\n"
      "no coordinator. Verbs that need one look at --coordinator, then at TRIREME_COORDINATOR,\n"
      "then at " + std::string(kDefaultCoordinator) + ".\n\nExit codes:\n" + ExitCodeText();
  return text;
}

int UnknownVerb(const std::string& word, const std::vector<Command>& commands, Context& context) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  const std::string nearest = Nearest(word, names);
  const std::string hint =
      nearest.empty() ? "`trireme help` lists the verbs" : "did you mean `trireme " + nearest + "`?";
  return FailAs(kExitUsage,
                InvalidArgument("unknown verb \"" + Printable(word) + "\"; " + hint), context);
}

const Command* FindCommand(const std::string& name, const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

Status CheckArguments(const Command& command, const Args& args) {
  const int given = static_cast<int>(args.positional().size());
  const std::string usage = "; usage: trireme " + command.name +
                            (command.arguments.empty() ? "" : " " + command.arguments) + " [flags]";
  if (given < command.num_arguments) {
    return InvalidArgument(command.name + " needs " + command.arguments + usage);
  }
  if (given > command.num_arguments) {
    return InvalidArgument("unexpected argument \"" +
                           Printable(args.positional()[command.num_arguments]) + "\"" + usage);
  }
  return absl::OkStatus();
}

}  // namespace

std::string HelpText(const Command& command) {
  return "Usage: trireme " + command.name +
         (command.arguments.empty() ? "" : " " + command.arguments) + " [flags]\n\n" +
         command.synopsis + "\n\n" + command.help + "\nFlags:\n" + FlagHelp(AllFlags(command));
}

int RunCommandLine(const std::vector<std::string>& words, const std::vector<Command>& commands,
                   Context& context) {
  const std::string verb = words.empty() ? "" : words[0];
  const bool wants_help = verb == "help" || verb == "--help" || verb == "-h";
  if (wants_help && words.size() > 1) {
    const Command* command = FindCommand(words[1], commands);
    if (command == nullptr) return UnknownVerb(words[1], commands, context);
    context.out << HelpText(*command);
    return kExitOk;
  }
  if (wants_help || verb.empty()) {
    (wants_help ? context.out : context.err) << Overview(commands);
    return wants_help ? kExitOk : kExitUsage;
  }
  const Command* command = FindCommand(verb == "--version" ? "version" : verb, commands);
  if (command == nullptr) return UnknownVerb(verb, commands, context);
  const auto args = ParseArgs({words.begin() + 1, words.end()}, AllFlags(*command));
  if (!args.ok()) {
    return Fail(InvalidArgument(command->name + ": " + std::string(args.status().message())),
                context);
  }
  if (args->Has("help")) {
    context.out << HelpText(*command);
    return kExitOk;
  }
  const Status arguments = CheckArguments(*command, *args);
  if (!arguments.ok()) return Fail(arguments, context);
  return command->run(*args, context);
}

int Fail(const Status& status, Context& context) {
  return FailAs(ExitCodeOf(status), status, context);
}

int FailAs(ExitCode code, const Status& status, Context& context) {
  context.out.flush();
  context.err << "trireme: " << status.message() << std::endl;
  return code;
}

FlagSpec CoordinatorFlag() {
  return {"coordinator", "HOST:PORT",
          "The coordinator to ask (default: $TRIREME_COORDINATOR, else " +
              std::string(kDefaultCoordinator) + ").",
          0, false, {}};
}

std::string CoordinatorAddress(const Args& args, const Context& context) {
  return args.Get("coordinator",
                  context.coordinator.empty() ? kDefaultCoordinator : context.coordinator);
}

}  // namespace trireme
