// What is wrong is found before anything is started. Whole runs are in tests/e2e.
#include "cli/commands/commands.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Run, BadFilesStartNothing) {
  const std::string job = WriteJob(testing::TempDir(), "run.yaml");
  const Outcome key = RunWords({"run", job, "--set", "train.stepz=1"}, RunCommand());
  EXPECT_EQ(key.code, kExitUsage);
  const Outcome data = RunWords({"run", job}, RunCommand());
  EXPECT_EQ(data.code, kExitUsage);
  EXPECT_THAT(data.err, HasSubstr("/work/corpus.txt is not a file"));
}

TEST(Run, WhatCannotBeShardedStartsNothing) {
  const std::string job = WriteJob(testing::TempDir(), "run_seven.yaml");
  const Outcome outcome =
      RunWords({"run", job, "--set", "mesh.axes={data: 1, model: 4}", "--set",
                "data.train=[{path: " + job + "}]"},
               RunCommand());
  EXPECT_EQ(outcome.code, kExitDoesNotFit) << outcome.err;
}

TEST(Run, NamesMissingPrograms) {
  const std::string job = WriteJob(testing::TempDir(), "run_missing.yaml");
  const Outcome outcome =
      RunWords({"run", job, "--set", "data.train=[{path: " + job + "}]"}, RunCommand());
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_THAT(outcome.err, HasSubstr("/nowhere/trireme-coordinator is not a program"));
}

TEST(Run, RefusesBadSizes) {
  const std::string job = WriteJob(testing::TempDir(), "run_sizes.yaml");
  EXPECT_THAT(RunWords({"run", job, "--hosts", "3", "--slices", "2"}, RunCommand()).err,
              HasSubstr("does not divide --hosts 3"));
  EXPECT_THAT(RunWords({"run", job, "--hosts", "0"}, RunCommand()).err,
              StartsWith("trireme: --hosts: expected"));
}

}  // namespace
}  // namespace trireme
