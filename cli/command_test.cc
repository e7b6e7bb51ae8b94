// Verbs are found, explain themselves, and answer slips with what was meant.
#include "cli/command.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome RunWords(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Context context{out, err};
  Command greet{"greet", "NAME", "Say hello.", "Example:\n  trireme greet Ann\n",
                {{"loud", "", "Louder.", 0, false, {}}}, 1,
                [](const Args& args, Context& inner) -> int {
                  inner.out << "hello " << args.positional()[0] << (args.Has("loud") ? "!" : "");
                  return args.positional()[0] == "nobody" ? Fail(NotFound("who?"), inner) : 0;
                }};
  const int code = RunCommandLine(words, {greet}, context);
  return {code, out.str(), err.str()};
}

TEST(RunCommandLine, RunsTheVerb) {
  const Outcome outcome = RunWords({"greet", "Ann", "--loud"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "hello Ann!");
}

TEST(RunCommandLine, PassesErrorsOn) {
  const Outcome outcome = RunWords({"greet", "nobody"});
  EXPECT_EQ(outcome.code, kExitNotFound);
  EXPECT_EQ(outcome.err, "trireme: who?\n");
}

TEST(RunCommandLine, SuggestsTheNearestVerb) {
  const Outcome outcome = RunWords({"gret", "Ann"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_EQ(outcome.err, "trireme: unknown verb \"gret\"; did you mean `trireme greet`?\n");
}

TEST(RunCommandLine, ChecksTheNumberOfArguments) {
  EXPECT_EQ(RunWords({"greet"}).err,
            "trireme: greet needs NAME; usage: trireme greet NAME [flags]\n");
  EXPECT_EQ(RunWords({"greet", "a", "b"}).err,
            "trireme: unexpected argument \"b\"; usage: trireme greet NAME [flags]\n");
}

TEST(RunCommandLine, HelpIsEverywhere) {
  EXPECT_EQ(RunWords({}).code, kExitUsage);
  for (const auto& words : std::vector<std::vector<std::string>>{{"help"}, {"--help"}, {"-h"}}) {
    EXPECT_EQ(RunWords(words).code, kExitOk);
    EXPECT_THAT(RunWords(words).out, HasSubstr("greet  Say hello."));
  }
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"help", "greet"}, {"greet", "--help"}, {"greet", "-h"}}) {
    EXPECT_EQ(RunWords(words).code, kExitOk);
    EXPECT_THAT(RunWords(words).out, HasSubstr("Usage: trireme greet NAME [flags]"));
    EXPECT_THAT(RunWords(words).out, HasSubstr("--loud"));
  }
}

TEST(CoordinatorAddress, FlagWinsOverEnvironmentWinsOverDefault) {
  std::ostringstream out;
  Context context{out, out};
  const std::vector<FlagSpec> flags = {CoordinatorFlag()};
  EXPECT_EQ(CoordinatorAddress(*ParseArgs({}, flags), context), "127.0.0.1:7700");
  context.coordinator = "a:1";
  EXPECT_EQ(CoordinatorAddress(*ParseArgs({}, flags), context), "a:1");
  EXPECT_EQ(CoordinatorAddress(*ParseArgs({"--coordinator", "b:2"}, flags), context), "b:2");
}

}  // namespace
}  // namespace trireme
