// Every verb explains itself the same way.
#include <set>

#include "cli/commands/commands.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(AllCommands, AreDistinctAndExplainThemselves) {
  std::set<std::string> names;
  for (const Command& command : AllCommands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_EQ(command.synopsis.back(), '.') << command.name;
    EXPECT_LE(command.synopsis.size(), 90u) << command.name;
    EXPECT_THAT(command.help, HasSubstr("\n  trireme " + command.name)) << "needs an example";
    EXPECT_EQ(command.help.back(), '\n') << command.name;
    EXPECT_EQ(command.num_arguments, command.arguments.empty() ? 0 : 1) << command.name;
    const Outcome outcome = RunWords({command.name, "--help"}, command);
    EXPECT_EQ(outcome.code, kExitOk);
    EXPECT_THAT(outcome.out, HasSubstr("-o, --output json|text"));
  }
}

TEST(AllCommands, AreTheOnesThatScriptsKnow) {
  std::set<std::string> names;
  for (const Command& command : AllCommands()) names.insert(command.name);
  for (const char* name : {"run", "plan", "submit", "list", "status", "logs", "metrics", "cancel",
                           "nodes", "generate", "version", "schedule"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

}  // namespace
}  // namespace trireme
