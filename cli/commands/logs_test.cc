// Lines name who wrote them and cannot harm a terminal.
#include "cli/commands/commands.h"
#include "cli/testing/fake_coordinator.h"
#include "cli/testing/run_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using ::testing::StartsWith;

FakeAnswers WithLogs() {
  FakeAnswers answers = FinishedJob();
  for (int rank = -1; rank < 2; ++rank) {
    v1::LogLine line;
    line.set_sequence(rank + 2);
    line.set_rank(rank);
    line.set_worker(rank < 0 ? "host-0" : "host-1");
    line.set_text("hello \x1b[31m");
    answers.logs.push_back(line);
  }
  return answers;
}

TEST(Logs, NamesTheWriter) {
  FakeCoordinator coordinator(WithLogs());
  const Outcome outcome =
      RunWords({"logs", "tiny-1", "-n", "9", "-f"}, LogsCommand(), coordinator.address());
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, "[host-0] hello ?[31m\n[rank 0] hello ?[31m\n[rank 1] hello ?[31m\n");
  EXPECT_EQ(coordinator.requests().logs.last_lines(), 9);
  EXPECT_TRUE(coordinator.requests().logs.follow());
}

TEST(Logs, PicksARank) {
  FakeCoordinator coordinator(WithLogs());
  const Outcome outcome = RunWords({"logs", "tiny-1", "--rank", "1", "-o", "json"}, LogsCommand(),
                                   coordinator.address());
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["text"], "hello \x1b[31m");
}

TEST(Logs, RefusesBadNumbers) {
  EXPECT_EQ(RunWords({"logs", "tiny-1", "--tail", "many"}, LogsCommand()).code, kExitUsage);
  EXPECT_THAT(RunWords({"logs", "tiny-1", "--rank", "-1"}, LogsCommand()).err,
              StartsWith("trireme: --rank: expected"));
}

}  // namespace
}  // namespace trireme
