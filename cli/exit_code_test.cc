// Scripts branch on these numbers.
#include "cli/exit_code.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

TEST(ExitCodeOf, MapsEveryKindOfError) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(Internal("")), 1);
  EXPECT_EQ(ExitCodeOf(InvalidArgument("")), 2);
  EXPECT_EQ(ExitCodeOf(NotFound("")), 3);
  EXPECT_EQ(ExitCodeOf(Unavailable("")), 5);
  EXPECT_EQ(ExitCodeOf(DeadlineExceeded("")), 5);
  EXPECT_EQ(ExitCodeOf(FailedPrecondition("")), 6);
  EXPECT_EQ(ExitCodeOf(ResourceExhausted("")), 7);
}

TEST(ExitCodeText, NamesEveryCode) {
  for (const char* code : {"  0 ", "  1 ", "  2 ", "  3 ", "  5 ", "  6 ", "  7 ", "  130 "}) {
    EXPECT_THAT(ExitCodeText(), ::testing::HasSubstr(code));
  }
}

}  // namespace
}  // namespace trireme
