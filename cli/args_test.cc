// Command lines mean one thing, and slips are answered with what was meant.
#include "cli/args.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<FlagSpec> Specs() {
  return {{"output", "json|text", "Form of the output.", 'o', false, {"json", "text"}},
          {"set", "KEY=VALUE", "Override a key.", 0, true, {}},
          {"rank", "N", "One rank.", 0, false, {}},
          {"explain", "", "Why.", 0, false, {}}};
}

std::string ErrorOf(const std::vector<std::string>& words) {
  const auto args = ParseArgs(words, Specs());
  return args.ok() ? "" : std::string(args.status().message());
}

TEST(ParseArgs, TakesFlagsAnywhereInEitherForm) {
  const auto args = ParseArgs(
      {"--set", "a=1", "job.yaml", "-o", "json", "--set=b=2", "--explain", "--", "--rank"}, Specs());
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_THAT(args->positional(), ElementsAre("job.yaml", "--rank"));
  EXPECT_THAT(args->All("set"), ElementsAre("a=1", "b=2"));
  EXPECT_TRUE(args->json());
  EXPECT_TRUE(args->Has("explain"));
  EXPECT_FALSE(args->Has("rank"));
  EXPECT_EQ(args->Get("rank", "none"), "none");
}

TEST(ParseArgs, SuggestsTheNearestFlag) {
  EXPECT_EQ(ErrorOf({"--explian"}), "unknown flag --explian; did you mean --explain?");
  EXPECT_EQ(ErrorOf({"--zzzzzzzz=3"}),
            "unknown flag --zzzzzzzz; known: --output, --set, --rank, --explain");
}

TEST(ParseArgs, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(ErrorOf({"--set"}), "--set needs a value: --set KEY=VALUE");
  EXPECT_EQ(ErrorOf({"--rank", "1", "--rank", "2"}), "--rank is given twice; once is enough");
  EXPECT_EQ(ErrorOf({"--explain=yes"}), "--explain takes no value");
  EXPECT_EQ(ErrorOf({"-o", "xml"}), "--output: expected one of json, text, got \"xml\"");
}

TEST(Args, ReadsNumbersWithinTheirRange) {
  const auto args = ParseArgs({"--rank", "7"}, Specs());
  ASSERT_TRUE(args.ok());
  EXPECT_EQ(*args->GetInt("rank", 0, 0, 9), 7);
  EXPECT_EQ(*args->GetInt("other", 5, 0, 9), 5);
  EXPECT_EQ(*args->GetNumber("rank", 0, 0, 9), 7);
  EXPECT_THAT(std::string(args->GetInt("rank", 0, 0, 6).status().message()),
              HasSubstr("--rank: expected a whole number from 0 to 6, got \"7\""));
  const auto word = ParseArgs({"--rank", "7x"}, Specs());
  EXPECT_FALSE(word->GetInt("rank", 0, 0, 9).ok());
  EXPECT_FALSE(word->GetNumber("rank", 0, 0, 9).ok());
}

TEST(FlagHelp, LinesUpAndWraps) {
  const std::string text = FlagHelp(
      {{"output", "json|text", "Form.", 'o', false, {}}, {"x", "", std::string(60, 'a') + " " + std::string(60, 'b'), 0, false, {}}});
  EXPECT_EQ(text, "  -o, --output json|text  Form.\n  --x                     " + std::string(60, 'a') +
                      "\n                          " + std::string(60, 'b') + "\n");
}

TEST(Printable, DisarmsTerminalEscapes) {
  EXPECT_EQ(Printable("a\x1b[31mb\tc\n"), "a?[31mb c?");
}

}  // namespace
}  // namespace trireme
