// The small things everything stands on: macros pass statuses on, CHECK ends the program, hashes stay put.
#include <gtest/gtest.h>

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/math.h"
#include "common/base/status.h"

namespace trireme {
namespace {

StatusOr<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("odd");
  return n / 2;
}

Status Quarter(int n, int* out) {
  ASSIGN_OR_RETURN(const int half, Half(n));
  ASSIGN_OR_RETURN(*out, Half(half));
  return absl::OkStatus();
}

TEST(Status, MacrosPassErrorsOn) {
  int out = 0;
  EXPECT_TRUE(Quarter(8, &out).ok());
  EXPECT_EQ(out, 2);
  EXPECT_EQ(Quarter(6, &out).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Annotate(Quarter(6, &out), "job x").message(), "job x: odd");
}

TEST(Check, AbortsWithTheValues) { EXPECT_DEATH(CHECK_EQ(1 + 1, 3) << "sum", "2 vs 3.*sum"); }

TEST(Math, StridesAndRounding) {
  EXPECT_EQ(DenseStrides({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(RoundUp(7, 4), 8);
}

// These enter checkpoints and random streams: changing them changes every model.
TEST(Math, HashesNeverChange) {
  EXPECT_EQ(StableHash("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafull);
}

TEST(Log, NamesTheProgram) {
  SetLogName("tester");
  testing::internal::CaptureStderr();
  LOG(INFO) << "event a=" << 1;
  EXPECT_NE(testing::internal::GetCapturedStderr().find("INFO tester: event a=1\n"),
            std::string::npos);
}

}  // namespace
}  // namespace trireme
