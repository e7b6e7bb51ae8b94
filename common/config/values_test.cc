// Values are read strictly: the whole text, the right kind, inside the range.
#include "common/config/values.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

ConfigNode Scalar(std::string text, bool quoted = false) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.where = "f:1";
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

TEST(ReadInt, TakesWholeNumbersOnly) {
  int64_t value = 0;
  EXPECT_TRUE(ReadInt(Scalar("+12"), "k", {1, 20}, &value).ok());
  EXPECT_EQ(value, 12);
  for (const char* bad : {"", "+", "1e3", "1.0", "0x10", "12 ", "21", "0", "+-3", "one"}) {
    EXPECT_FALSE(ReadInt(Scalar(bad), "k", {1, 20}, &value).ok()) << bad;
  }
  EXPECT_EQ(ReadInt(Scalar("21"), "k", {1, 20}, &value).message(),
            "f:1: k: expected a whole number from 1 to 20, got 21");
}

TEST(ReadNumber, KnowsOpenEnds) {
  double value = 0;
  EXPECT_TRUE(ReadNumber(Scalar("1e-3"), "k", {0, 1}, &value).ok());
  EXPECT_EQ(value, 1e-3);
  EXPECT_TRUE(ReadNumber(Scalar("0"), "k", {0, 1}, &value).ok());
  EXPECT_FALSE(ReadNumber(Scalar("0"), "k", {0, 1, true, false}, &value).ok());
  EXPECT_FALSE(ReadNumber(Scalar("1"), "k", {0, 1, false, true}, &value).ok());
  for (const char* bad : {"nan", "inf", "1e999", "", "1,5", "0.5x"}) {
    EXPECT_FALSE(ReadNumber(Scalar(bad), "k", {}, &value).ok()) << bad;
  }
}

// The rule of the schedule: up to 1 a share, above it whole steps; a suffix decides for itself.
TEST(ReadStepCount, TellsStepsFromShares) {
  const std::pair<const char*, StepCount> good[] = {
      {"2 steps", {false, 2}}, {"1 step", {false, 1}},  {"1 steps", {false, 1}},
      {"0 steps", {false, 0}}, {"0.1", {true, 0.1}},    {"10%", {true, 0.1}},
      {"1", {true, 1}},        {"1.0", {true, 1}},      {"0", {true, 0}},
      {"2", {false, 2}},       {"300.0", {false, 300}}, {"100%", {true, 1}},
  };
  for (const auto& [text, want] : good) {
    StepCount count;
    EXPECT_TRUE(ReadStepCount(Scalar(text), "k", &count).ok()) << text;
    EXPECT_EQ(count, want) << text;
  }
  for (const char* bad : {"", "-1", "1.5", "-2 steps", "2.5 steps", "101%", "-1%", "steps", "x"}) {
    StepCount count;
    EXPECT_FALSE(ReadStepCount(Scalar(bad), "k", &count).ok()) << bad;
  }
}

TEST(ReadSteps, OneIsOneStep) {
  int64_t steps = 0;
  EXPECT_TRUE(ReadSteps(Scalar("1"), "k", &steps).ok());
  EXPECT_EQ(steps, 1);
  EXPECT_TRUE(ReadSteps(Scalar("10 steps", true), "k", &steps).ok());
  EXPECT_EQ(steps, 10);
  EXPECT_FALSE(ReadSteps(Scalar("10%"), "k", &steps).ok());
}

TEST(ReadBool, TakesTwoWords) {
  bool value = false;
  EXPECT_TRUE(ReadBool(Scalar("true"), "k", &value).ok());
  EXPECT_TRUE(value);
  EXPECT_FALSE(ReadBool(Scalar("yes"), "k", &value).ok());
  EXPECT_FALSE(ReadBool(Scalar("true", true), "k", &value).ok());
}

TEST(ReadText, RefusesControlCharacters) {
  std::string value;
  EXPECT_TRUE(ReadText(Scalar("a b"), "k", &value).ok());
  EXPECT_FALSE(ReadText(Scalar(std::string("a\0b", 3)), "k", &value).ok());
  EXPECT_FALSE(ReadText(Scalar(std::string(5000, 'a')), "k", &value).ok());
}

TEST(Nearest, FindsSlipsAndNothingElse) {
  const std::vector<std::string> words = {"steps", "seed", "remat"};
  EXPECT_EQ(Nearest("stesp", words), "steps");
  EXPECT_EQ(Nearest("rematt", words), "remat");
  EXPECT_EQ(Nearest("banana", words), "");
  EXPECT_EQ(Nearest("x", words), "");
}

}  // namespace
}  // namespace trireme
