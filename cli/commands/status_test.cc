// One job, one screen.
#include "cli/commands/commands.h"
#include "cli/testing/fake_coordinator.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Status, ShowsTheJob) {
  FakeCoordinator coordinator(FinishedJob());
  const Outcome outcome = RunWords({"status", "tiny-1"}, StatusCommand(), coordinator.address());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("tiny-1  SUCCEEDED\n  why         all ranks are done\n"));
  const auto json = nlohmann::json::parse(
      RunWords({"status", "jobs/tiny-1", "-o", "json"}, StatusCommand(), coordinator.address()).out);
  EXPECT_EQ(json["total_steps"], 2);
  EXPECT_THAT(RunWords({"status", "x"}, StatusCommand(), coordinator.address()).err,
              HasSubstr("there is no job x"));
}

}  // namespace
}  // namespace trireme
