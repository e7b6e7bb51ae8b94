// Generating says what it misses. Whole runs are in tests/e2e.
#include "cli/commands/commands.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(Generate, SaysWhatItNeeds) {
  EXPECT_THAT(RunWords({"generate", "--prompt", "x"}, GenerateCommand()).err,
              HasSubstr("needs --checkpoint"));
  EXPECT_THAT(RunWords({"generate", "--checkpoint", "x"}, GenerateCommand()).err,
              HasSubstr("needs --prompt"));
  EXPECT_EQ(RunWords({"generate", "--checkpoint", "x", "--prompt", "y", "--temperature", "-1"},
                     GenerateCommand())
                .code,
            kExitUsage);
}

TEST(Generate, NamesAFolderWithoutCheckpoint) {
  const Outcome outcome =
      RunWords({"generate", "--checkpoint", "none", "--prompt", "y"}, GenerateCommand());
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("no complete checkpoint in /work/none"));
}

}  // namespace
}  // namespace trireme
